#include <cub/block/block_reduce.cuh>

#include "bridgemark/backend/cuda/cp/cp_view.h"
#include "bridgemark/backend/cuda/runtime/check.h"

namespace bridgemark::backend::cuda {

namespace {

__global__ void count_updates(Progress* progress) {
  progress->index += kBatchesAhead;
  progress->local += kBatchesAhead;
}

// The largest and the sum over one block, in each thread.
class BlockReduction {
 public:
  using Reduce = cub::BlockReduce<double, kTileThreads>;
  struct Storage {
    Reduce::TempStorage scratch;
    double result;
  };
  __device__ explicit BlockReduction(Storage& storage) : storage_(storage) {}
  __device__ double max(double value) {
    return share(
        Reduce(storage_.scratch).Reduce(value, [](double a, double b) { return fmax(a, b); }));
  }
  __device__ double sum(double value) { return share(Reduce(storage_.scratch).Sum(value)); }

 private:
  __device__ double share(double value) {
    if (threadIdx.x == 0) storage_.result = value;
    __syncthreads();
    value = storage_.result;
    __syncthreads();
    return value;
  }

  Storage& storage_;
};

// The sum of exp(log_beta) over this rank's components; one block.
__global__ void sum_beta(CpView view) {
  __shared__ BlockReduction::Storage storage;
  BlockReduction reduce(storage);
  double value = -INFINITY;
  for (int k = threadIdx.x; k < view.K; k += kTileThreads) {
    value = fmax(value, static_cast<double>(view.log_beta[k]));
  }
  const double high = reduce.max(value);
  value = 0.0;
  for (int k = threadIdx.x; k < view.K; k += kTileThreads) value += exp(view.log_beta[k] - high);
  value = reduce.sum(value);
  if (threadIdx.x == 0) {
    *view.beta_sum.own_high = *view.beta_sum.high = high;
    *view.beta_sum.sum = value;
  }
}

// This rank's part of the negative entropy of the softmax of log_beta; one block.
__global__ void measure_entropy(CpView view) {
  __shared__ BlockReduction::Storage storage;
  BlockReduction reduce(storage);
  const double log_sum = *view.beta_sum.high + log(*view.beta_sum.sum);
  double value = 0.0;
  for (int k = threadIdx.x; k < view.K; k += kTileThreads) {
    const double log_p = view.log_beta[k] - log_sum;
    value += exp(log_p) * log_p;
  }
  value = reduce.sum(value);
  if (threadIdx.x == 0) {
    view.entropy_of_beta[0] = static_cast<float>(log_sum);
    *view.beta_entropy = value;
  }
}

__global__ void keep_entropy(CpView view) {
  view.entropy_of_beta[1] = static_cast<float>(*view.beta_entropy);
}

}  // namespace

void launch_count(const CpView& view, cudaStream_t stream) {
  count_updates<<<1, 1, 0, stream>>>(view.progress);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_entropy(const CpView& view, DeviceRanks* ranks, cudaStream_t stream) {
  sum_beta<<<1, kTileThreads, 0, stream>>>(view);
  launch_exchange(view.beta_sum, ranks, stream);
  measure_entropy<<<1, kTileThreads, 0, stream>>>(view);
  if (ranks != nullptr) ranks->all_sum(view.beta_entropy, 1, stream);
  keep_entropy<<<1, 1, 0, stream>>>(view);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
