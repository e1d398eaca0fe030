#include "bridgemark/backend/cuda/bridge/device_source.h"
#include "bridgemark/backend/cuda/device/lanes.h"
#include "bridgemark/backend/cuda/runtime/check.h"
#include "bridgemark/math/log_rows.h"
#include "bridgemark/math/row_coupling.h"

// The pairs that couple_rows of the CPU makes: a warp has a group, a lane a row of it.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kLanes = static_cast<int>(kCoupledRows);
static_assert(kCoupledRows == 32);

__global__ void couple(CouplingView coupling, int D, int S, const unsigned long long* first_update,
                       unsigned ahead, int batch_rows, const std::int32_t* all_x0,
                       std::int32_t* all_x1) {
  __shared__ double log_q[kLanes][kLanes + 1];  // of x1[j] from x0[i]
  const int i = threadIdx.x, first = blockIdx.x * kLanes;
  const int rows = min(kLanes, batch_rows - first);
  const std::size_t row = static_cast<std::size_t>(blockIdx.y) * batch_rows + first;
  const std::int32_t* x0 = all_x0 + row * D;
  std::int32_t* x1 = all_x1 + row * D;
  const bool active = i < rows;
  if (active) {
    for (int j = 0; j < rows; ++j) {
      log_q[i][j] = log_of_rows(coupling.log_q, S, x0 + i * D, x1 + j * D, D);
    }
  }
  __syncwarp();
  const std::uint64_t index = (*first_update + ahead) * batch_rows + row;
  int end = i;
  std::uint32_t meeting = 0;
  for (std::uint32_t round = 0; round < kCouplingRounds; ++round) {
    for (int distance = 1; distance < kLanes; ++distance, ++meeting) {
      const int j = i ^ distance, other = __shfl_sync(kWholeWarp, end, j);
      bool exchange = false;
      if (i < j && j < rows) {
        const double gain = (log_q[i][other] + log_q[j][end]) - (log_q[i][end] + log_q[j][other]);
        exchange = exchanges(coupling.key, index + i, meeting, gain);
      }
      // The lower of two rows decides.
      exchange = __shfl_sync(kWholeWarp, static_cast<int>(exchange), min(i, j)) != 0;
      if (exchange) end = other;
    }
  }
  for (int d = 0; d < D; ++d) {
    const std::int32_t value = active ? x1[end * D + d] : 0;
    __syncwarp();
    if (active) x1[i * D + d] = value;
    __syncwarp();
  }
}

}  // namespace

void launch_coupling(const CouplingView& coupling, int D, int S,
                     const unsigned long long* first_update, unsigned ahead, int batch_rows,
                     int batches, const std::int32_t* x0, std::int32_t* x1, cudaStream_t stream) {
  const dim3 groups((batch_rows + kLanes - 1) / kLanes, batches);
  couple<<<groups, kLanes, 0, stream>>>(coupling, D, S, first_update, ahead, batch_rows, x0, x1);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
