#include "bridgemark/backend/cuda/runtime/narrow_states.h"

#include "bridgemark/backend/cuda/runtime/buffer.h"

namespace bridgemark::backend::cuda {

namespace {

// A negative value is a large one without its sign.
template <typename T>
__global__ void narrow(const T* given, std::size_t count, int num_categories, std::int32_t* out,
                       unsigned long long* first_bad) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  const auto value = static_cast<std::uint64_t>(given[i]);
  const bool good = value < static_cast<std::uint64_t>(num_categories);
  if (!good) atomicMin(first_bad, static_cast<unsigned long long>(i));
  out[i] = good ? static_cast<std::int32_t>(value) : 0;
}

template <typename Signed, typename Unsigned>
void launch(const DeviceIntegers& given, std::size_t count, int num_categories, std::int32_t* out,
            unsigned long long* first_bad, cudaStream_t stream) {
  const unsigned blocks = blocks_for(count);
  if (given.is_signed) {
    narrow<<<blocks, kThreads, 0, stream>>>(static_cast<const Signed*>(given.data), count,
                                            num_categories, out, first_bad);
  } else {
    narrow<<<blocks, kThreads, 0, stream>>>(static_cast<const Unsigned*>(given.data), count,
                                            num_categories, out, first_bad);
  }
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_narrow(const DeviceIntegers& given, std::size_t count, int num_categories,
                   std::int32_t* out, unsigned long long* first_bad, cudaStream_t stream) {
  const auto run = [&]<typename Signed, typename Unsigned>(Signed, Unsigned) {
    launch<Signed, Unsigned>(given, count, num_categories, out, first_bad, stream);
  };
  switch (given.bytes) {
    case 1:
      return run(std::int8_t{}, std::uint8_t{});
    case 2:
      return run(std::int16_t{}, std::uint16_t{});
    case 4:
      return run(std::int32_t{}, std::uint32_t{});
    default:
      return run(std::int64_t{}, std::uint64_t{});
  }
}

}  // namespace bridgemark::backend::cuda
