#include <cstring>

#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/narrow_states.h"
#include "bridgemark/backend/cuda/runtime/placed.h"
#include "bridgemark/backend/cuda_ops.h"
#include "bridgemark/core/error.h"

namespace bridgemark::backend::cuda {

namespace {

// The integer at a place, as text.
std::string text_of(const DeviceIntegers& given, unsigned long long place, cudaStream_t stream) {
  std::uint64_t bits = 0;  // little-endian: the bytes of a narrower one are its lowest
  const auto bytes = static_cast<std::size_t>(given.bytes);
  copy_memory(static_cast<const char*>(given.data) + place * bytes, &bits, bytes, stream);
  if (!given.is_signed) return fmt::format("{}", bits);
  const auto unused = static_cast<int>(64 - 8 * bytes);
  return fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
}

}  // namespace

std::shared_ptr<void> allocate_memory(std::size_t bytes) {
  require_device();
  const auto buffer = std::make_shared<Buffer<char>>(bytes);
  return {buffer, buffer->get()};
}

void copy_memory(const void* from, void* to, std::size_t bytes, void* queue) {
  const auto stream = static_cast<cudaStream_t>(queue);
  if (bytes > 0) BM_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  BM_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void take_states(std::string_view name, const DeviceIntegers& given, int num_categories,
                 MutableStatesView out, void* queue) {
  const auto stream = static_cast<cudaStream_t>(queue);
  if (out.size() == 0) return;
  const Scratch<unsigned long long> found(1, stream);
  BM_CUDA_CHECK(cudaMemsetAsync(found.get(), 0xff, sizeof(kNoPlace), stream));
  launch_narrow(given, out.size(), num_categories, out.data, found.get(), stream);
  unsigned long long place = kNoPlace;
  copy_memory(found.get(), &place, sizeof(place), stream);
  if (place == kNoPlace) return;
  throw_invalid("states", "{} must hold categories 0..{}, got {} at row {}, column {}", name,
                num_categories - 1, text_of(given, place, stream), place / out.cols,
                place % out.cols);
}

}  // namespace bridgemark::backend::cuda
