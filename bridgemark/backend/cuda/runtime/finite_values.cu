#include "bridgemark/backend/cuda/runtime/finite_values.h"

#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/placed.h"

namespace bridgemark::backend::cuda {

namespace {

__global__ void find_not_finite(const float* values, std::size_t count, int* found) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i < count && !isfinite(values[i])) *found = 1;
}

}  // namespace

bool all_finite(std::span<const DeviceValues> values, cudaStream_t stream) {
  const Scratch<int> found(1, stream);
  BM_CUDA_CHECK(cudaMemsetAsync(found.get(), 0, sizeof(int), stream));
  for (const DeviceValues& part : values) {
    if (part.count == 0) continue;
    find_not_finite<<<blocks_for(part.count), kThreads, 0, stream>>>(part.data, part.count,
                                                                     found.get());
  }
  BM_CUDA_CHECK(cudaGetLastError());
  int any = 0;
  BM_CUDA_CHECK(cudaMemcpyAsync(&any, found.get(), sizeof(int), cudaMemcpyDeviceToHost, stream));
  BM_CUDA_CHECK(cudaStreamSynchronize(stream));
  return any == 0;
}

}  // namespace bridgemark::backend::cuda
