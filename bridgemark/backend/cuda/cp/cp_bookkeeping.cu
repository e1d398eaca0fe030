#include <cub/block/block_reduce.cuh>

#include "bridgemark/backend/cuda/cp/cp_view.h"
#include "bridgemark/backend/cuda/runtime/check.h"

namespace bridgemark::backend::cuda {

namespace {

__global__ void count_updates(Progress* progress) {
  progress->index += kBatchesAhead;
  progress->local += kBatchesAhead;
}

// Log-sum of log_beta and the negative entropy of its softmax; one block.
__global__ void measure_entropy(const float* log_beta, int K, float* out) {
  using Reduce = cub::BlockReduce<float, kTileThreads>;
  __shared__ Reduce::TempStorage scratch;
  __shared__ float result;
  const auto reduce = [&](float value, auto&& combine) {
    value = Reduce(scratch).Reduce(value, combine);
    if (threadIdx.x == 0) result = value;
    __syncthreads();
    return result;
  };
  const auto larger = [](float a, float b) { return fmaxf(a, b); };
  const auto sum_of = [](float a, float b) { return a + b; };
  float value = -INFINITY;
  for (int k = threadIdx.x; k < K; k += kTileThreads) value = fmaxf(value, log_beta[k]);
  const float high = reduce(value, larger);
  value = 0.0f;
  for (int k = threadIdx.x; k < K; k += kTileThreads) value += expf(log_beta[k] - high);
  const float log_sum = high + logf(reduce(value, sum_of));
  value = 0.0f;
  for (int k = threadIdx.x; k < K; k += kTileThreads) {
    value += expf(log_beta[k] - log_sum) * (log_beta[k] - log_sum);
  }
  value = reduce(value, sum_of);
  if (threadIdx.x == 0) {
    out[0] = log_sum;
    out[1] = value;
  }
}

}  // namespace

void launch_count(const CpView& view, cudaStream_t stream) {
  count_updates<<<1, 1, 0, stream>>>(view.progress);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_entropy(const CpView& view, cudaStream_t stream) {
  measure_entropy<<<1, kTileThreads, 0, stream>>>(view.log_beta, view.K, view.entropy_of_beta);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
