#include <algorithm>

#include "bridgemark/backend/cuda/runtime/finite_values.h"

namespace bridgemark::backend::cuda {

namespace {

constexpr unsigned kMostBlocks = 1024;

__global__ void find_not_finite(DeviceValues values, int* found) {
  const std::size_t stride = std::size_t{kThreads} * gridDim.x;
  const std::size_t count = values.width * values.rows;
  bool finite = true;
  for (std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x; i < count; i += stride) {
    const std::size_t row = values.rows == 1 ? 0 : i / values.width;
    finite = finite && isfinite(values.data[row * values.pitch + i - row * values.width]);
  }
  if (!finite) *found = 1;
}

}  // namespace

FiniteCheck::FiniteCheck() {
  BM_CUDA_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&found_), sizeof(int), cudaHostAllocMapped));
}

FiniteCheck::~FiniteCheck() { cudaFreeHost(found_); }

bool FiniteCheck::all_finite(std::span<const DeviceValues> values, cudaStream_t stream) const {
  *found_ = 0;
  for (const DeviceValues& part : values) {
    const unsigned blocks = std::min(blocks_for(part.width * part.rows), kMostBlocks);
    if (blocks > 0) find_not_finite<<<blocks, kThreads, 0, stream>>>(part, found_);
  }
  BM_CUDA_CHECK(cudaGetLastError());
  BM_CUDA_CHECK(cudaStreamSynchronize(stream));
  return *static_cast<volatile int*>(found_) == 0;
}

}  // namespace bridgemark::backend::cuda
