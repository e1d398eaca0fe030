#include "bridgemark/backend/cuda/runtime/memory.h"

#include <cstdint>

#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/narrow_states.h"
#include "bridgemark/backend/cuda/runtime/placed.h"
#include "bridgemark/backend/cuda/runtime/stream.h"
#include "bridgemark/core/error.h"

namespace bridgemark::backend::cuda {

namespace {

// The integer at a place, as text.
std::string text_of(const DeviceIntegers& given, unsigned long long place, cudaStream_t stream) {
  std::uint64_t bits = 0;  // little-endian: the bytes of a narrower one are its lowest
  const auto bytes = static_cast<std::size_t>(given.bytes);
  copy_and_wait(static_cast<const char*>(given.data) + place * bytes, &bits, bytes, stream);
  if (!given.is_signed) return fmt::format("{}", bits);
  const auto unused = static_cast<int>(64 - 8 * bytes);
  return fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
}

}  // namespace

void copy_and_wait(const void* from, void* to, std::size_t bytes, cudaStream_t stream) {
  if (bytes > 0) BM_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  BM_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void CudaBackend::copy_memory(const Context& context, const void* from, void* to,
                              std::size_t bytes) const {
  copy_and_wait(from, to, bytes, stream_of(context));
}

std::shared_ptr<void> CudaBackend::allocate_memory(std::size_t bytes) const {
  require_device();
  const auto buffer = std::make_shared<Buffer<char>>(bytes);
  return {buffer, buffer->get()};
}

void CudaBackend::take_states(const Context& context, std::string_view name,
                              const DeviceIntegers& given, int num_categories,
                              MutableStatesView out) const {
  const auto stream = stream_of(context);
  if (out.size() == 0) return;
  const Scratch<unsigned long long> found(1, stream);
  BM_CUDA_CHECK(cudaMemsetAsync(found.get(), 0xff, sizeof(kNoPlace), stream));
  launch_narrow(given, out.size(), num_categories, out.data, found.get(), stream);
  unsigned long long place = kNoPlace;
  copy_and_wait(found.get(), &place, sizeof(place), stream);
  if (place == kNoPlace) return;
  throw_invalid("states", "{} must hold categories 0..{}, got {} at row {}, column {}", name,
                num_categories - 1, text_of(given, place, stream), place / out.cols,
                place % out.cols);
}

}  // namespace bridgemark::backend::cuda
