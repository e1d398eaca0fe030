#include "bridgemark/backend/cuda/cp/rank_sums.h"

#include "bridgemark/backend/cuda/runtime/check.h"

namespace bridgemark::backend::cuda {

namespace {

// From the rank's own maximum to that of all.
__global__ void rescale(RankSums sums) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < sums.count) sums.sum[i] *= exp(sums.own_high[i] - sums.high[i]);
}

}  // namespace

RankSums allocate_rank_sums(Memory& memory, int count) {
  return {count, memory.allocate<double>(count), memory.allocate<double>(count),
          memory.allocate<double>(count)};
}

void launch_exchange(const RankSums& sums, DeviceRanks* ranks, cudaStream_t stream) {
  if (ranks == nullptr) return;
  ranks->all_max(sums.high, sums.count, stream);
  rescale<<<blocks_for(sums.count), kThreads, 0, stream>>>(sums);
  BM_CUDA_CHECK(cudaGetLastError());
  ranks->all_sum(sums.sum, sums.count, stream);
}

}  // namespace bridgemark::backend::cuda
