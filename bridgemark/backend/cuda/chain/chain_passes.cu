#include <cmath>

#include "bridgemark/backend/cuda/chain/chain_view.h"
#include "bridgemark/backend/cuda/device/fast_math.h"
#include "bridgemark/backend/cuda/device/lanes.h"
#include "bridgemark/backend/cuda/runtime/check.h"
#include "bridgemark/math/exact_log_dot.h"

// One block for each row of each side, one thread for each state. A message is kept as logarithms;
// what is multiplied by the moves is its exponential, scaled to a maximum of 1, and a sum that may
// have lost terms to underflow is made again from the logarithms.
namespace bridgemark::backend::cuda {

namespace {

// Terms below 1e-38 of a maximum of 1 are lost: 1e-20 or less of a sum above this.
constexpr float kSumFloor = 1e-18f;

// What the threads of a row share.
struct RowScratch {
  float* linear;  // [Kp]
  float* log;     // [Kp]
  float* warps;   // [Kp / 32]
};

template <bool kMax>
__device__ float reduce_row(float value, float* warps, int num_warps) {
  value = kMax ? max_of_lanes<32>(value) : sum_of_lanes<32>(value);
  if (num_warps == 1) return value;
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[0];
  for (int w = 1; w < num_warps; ++w) value = kMax ? fmaxf(value, warps[w]) : value + warps[w];
  return value;
}

__device__ void wait_for_row(int num_warps) {
  if (num_warps == 1) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

// sum_i scratch.linear[i] column[i * Kp]; kStates is Kp where the compiler may know it, else 0.
template <int kStates>
__device__ float sum_over_states(const float* linear, const float* column, int Kp) {
  float sums[4] = {};
  const int count = kStates > 0 ? kStates : Kp;
#pragma unroll(kStates > 0 ? kStates / 4 : 2)
  for (int i = 0; i < count; i += 4) {
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[j] = fmaf(linear[i + j], column[(i + j) * count], sums[j]);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// log of the same sum, with log_column the logarithms of the column and `high` what scales it.
template <int kStates>
__device__ float log_sum_over_states(const RowScratch& scratch, const float* column,
                                     const float* log_column, std::size_t stride, float high,
                                     int Kp, int num_states) {
  if (threadIdx.x >= num_states) return -INFINITY;  // padding
  const float sum = sum_over_states<kStates>(scratch.linear, column, Kp);
  if (sum >= kSumFloor) return fast_log(sum);
  return static_cast<float>(exact_log_dot(scratch.log, log_column, stride, Kp) -
                            static_cast<double>(high));
}

// Writes the message that all states of the row see, scaled to a maximum of 1; returns its own
// logarithm, and in `high` that of the scale.
__device__ float share_message(const RowScratch& scratch, float value, int num_warps, float& high) {
  high = reduce_row<true>(value, scratch.warps, num_warps);
  const float own = value - high;
  wait_for_row(num_warps);
  scratch.linear[threadIdx.x] = fast_exp(own);
  scratch.log[threadIdx.x] = own;
  wait_for_row(num_warps);
  return own;
}

template <int kStates>
__global__ void __launch_bounds__(kStates > 0 ? kStates : kMostStates)
    run_passes(ChainView view, Batch batch) {
  extern __shared__ float shared[];
  const int Kp = kStates > 0 ? kStates : view.Kp, D = view.D, B = view.B, num_warps = Kp / 32;
  const int side = blockIdx.y, b = blockIdx.x, k = threadIdx.x;
  const RowScratch scratch{shared, shared + Kp, shared + 2 * Kp};
  const std::int32_t* x = (side == 0 ? batch.x0 : batch.x1) + static_cast<std::size_t>(b) * D;
  const float* table = side == 0 ? view.log_u : view.log_cores;
  const auto emission = [&](int d) {
    return table[(static_cast<std::size_t>(d) * view.S + x[d]) * Kp + k];
  };
  const auto place = [&](int d) { return (static_cast<std::size_t>(d) * B + b) * Kp + k; };
  const std::size_t matrix = static_cast<std::size_t>(Kp) * Kp;

  double log_scale = 0.0;
  float message = view.log_beta[k], high = 0.0f;
  for (int d = 0; d < D; ++d) {
    view.before[side][place(d)] = share_message(scratch, message + emission(d), num_warps, high);
    log_scale += static_cast<double>(high);
    if (d + 1 == D) break;
    const float moves_high = view.moves_high[d];
    message =
        log_sum_over_states<kStates>(scratch, view.moves + d * matrix + k,
                                     view.log_moves + d * matrix + k, Kp, moves_high, Kp, view.K);
    log_scale += static_cast<double>(moves_high);
  }
  const float total = reduce_row<false>(scratch.linear[k], scratch.warps, num_warps);
  if (k == 0) {
    view.row_loss[side * B + b] =
        (side == 0 ? 1.0 : -1.0) * (log_scale + log(static_cast<double>(total)));
  }

  message = 0.0f;
  for (int d = D - 1;; --d) {
    // before[d] * message, over its sum
    const float log_own = view.before[side][place(d)] + message;
    high = reduce_row<true>(log_own, scratch.warps, num_warps);
    const float own = fast_exp(log_own - high);
    const float sum = reduce_row<false>(own, scratch.warps, num_warps);
    view.weights[side][place(d)] = own / sum;
    if (d + 1 < D) {
      const float log_sum = high + fast_log(sum);
      view.after[side][place(d + 1)] -= log_sum;
      if (k == 0) view.log_sums[side][static_cast<std::size_t>(d) * B + b] = log_sum;
    }
    if (d == 0) break;
    view.after[side][place(d)] = share_message(scratch, message + emission(d), num_warps, high);
    const std::size_t at = (d - 1) * matrix;
    message = log_sum_over_states<kStates>(scratch, view.moves_transposed + at + k,
                                           view.log_moves + at + static_cast<std::size_t>(k) * Kp,
                                           1, view.moves_high[d - 1], Kp, view.K);
  }
}

}  // namespace

void launch_passes(const ChainView& view, const Batch& batch, cudaStream_t stream) {
  const dim3 rows(view.B, 2);
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(2 * view.Kp + view.Kp / 32);
  if (view.Kp == 32) {
    run_passes<32><<<rows, 32, bytes, stream>>>(view, batch);
  } else {
    run_passes<0><<<rows, view.Kp, bytes, stream>>>(view, batch);
  }
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
