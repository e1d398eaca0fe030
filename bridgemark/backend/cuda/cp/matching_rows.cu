#include "bridgemark/backend/cuda/cp/matching_tiles.h"
#include "bridgemark/backend/cuda/runtime/check.h"

// y, target, loss, and back to d loss / d V: a block has one row of the batch, so one power of the
// reference, and kMatchDims dimensions.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kMatchDims = 32;
constexpr int kMatchLanes = kTileThreads / kMatchDims;  // that share a dimension

// y below this share of its sum may have lost terms of V to underflow.
constexpr float kShareFloor = 1e-26f;

struct RowPlace {
  int b, d, n, x, end;
};

// The logarithm of the pinned target, by the lanes that share a row.
template <int kLanes>
__device__ void write_target(const MatchingView& view, const RowPlace& at, float* log_target,
                             int lane) {
  const PinnedStep<double> pinned =
      pinned_step(view.log_q, view.S, view.num_steps - at.n, at.x, at.end);
#pragma unroll 8
  for (int s = lane; s < view.S; s += kLanes) {
    log_target[s] = static_cast<float>(pinned.log_probability(s));
  }
}

__device__ float step_weight(const MatchingView& view, int n) {
  return view.step_weights == nullptr ? 1.0f : view.step_weights[n];
}

// From log_weights [S], unnormalised, the loss, which counts `weight` times; flow is the target's
// logarithm and becomes d loss / d log_weights.
template <int kLanes>
__device__ double row_loss(const MatchingView& view, float weight, const float* log_weights,
                           float* flow, int lane) {
  const int S = view.S;
  float high = -INFINITY;
  for (int s = lane; s < S; s += kLanes) high = fmaxf(high, log_weights[s]);
  high = max_of_lanes<kLanes>(high);
  float sum = 0.0f;
  for (int s = lane; s < S; s += kLanes) sum += fast_exp(log_weights[s] - high);
  sum = sum_of_lanes<kLanes>(sum);
  const float log_sum = high + logf(sum), scale = weight / static_cast<float>(view.B);
  const bool kl = view.kind == MatchingLoss::kKl;
  float loss = 0.0f, slopes = 0.0f;
  for (int s = lane; s < S; s += kLanes) {
    const float log_target = flow[s], log_model = log_weights[s] - log_sum;
    const float target = fast_exp(log_target), model = fast_exp(log_model);
    const float slope = matching_slope(view.kind, target, model);
    loss += matching_term(view.kind, target, model, log_target - log_model);
    flow[s] = scale * (kl ? slope + model : slope);  // the KL's slopes add up to -1
    slopes += flow[s];
  }
  if (!kl) {
    slopes = sum_of_lanes<kLanes>(slopes);
    for (int s = lane; s < S; s += kLanes) {
      flow[s] = fmaf(-fast_exp(log_weights[s] - log_sum), slopes, flow[s]);
    }
  }
  return weight * sum_of_lanes<kLanes>(static_cast<double>(loss));
}

// One row on the exact path, by a whole warp: log V in double, and d loss / d log V.
__device__ void match_exactly(const MatchingView& view, const RowPlace& at, float high_of_row,
                              float* log_weights, float* flow) {
  const int S = view.S, lane = threadIdx.x % 32, rest = view.num_steps - at.n;
  const float* w = view.total + static_cast<std::size_t>(at.b) * view.Kp;
  const float* r = view.log_r + row_at(view, at.d, at.b) * view.Kp;
  double* log_v = view.exact_log_v + row_at(view, at.d, at.b) * S;
  double* back = view.exact_back + row_at(view, at.d, at.b) * S;
  const double* log_after = view.log_q + static_cast<std::size_t>(rest - 1) * S * S;
  for (int t = 0; t < S; ++t) {
    const float* cores = view.log_cores + core_at(view, at.d, t, 0);
    const auto value = [&](int k) {
      return static_cast<double>(w[k]) - static_cast<double>(r[k]) + static_cast<double>(cores[k]);
    };
    double largest = -INFINITY, sum = 0.0;
    for (int k = lane; k < view.K; k += 32) largest = fmax(largest, value(k));
    largest = max_of_lanes<32>(largest);
    for (int k = lane; k < view.K; k += 32) sum += exp(value(k) - largest);
    sum = sum_of_lanes<32>(sum);
    if (lane == 0) log_v[t] = largest + log(sum);
  }
  __syncwarp();
  for (int s = lane; s < S; s += 32) {
    back[s] = exact_log_dot(log_after + s * S, log_v, 1, S);  // log y until the flow is known
    log_weights[s] = static_cast<float>(view.log_q[(static_cast<std::size_t>(S) + at.x) * S + s] +
                                        back[s] - high_of_row);
  }
  __syncwarp();
  write_target<32>(view, at, flow, lane);
  const double loss = row_loss<32>(view, step_weight(view, at.n), log_weights, flow, lane);
  __syncwarp();
  double to_v[8];
  for (int t = lane, i = 0; t < S; t += 32, ++i) {
    double sum = 0.0;
    for (int s = 0; s < S; ++s) {
      sum += static_cast<double>(flow[s]) * exp(log_after[s * S + t] + log_v[t] - back[s]);
    }
    to_v[i] = sum;
  }
  __syncwarp();
  for (int t = lane, i = 0; t < S; t += 32, ++i) back[t] = to_v[i];
  if (lane == 0) {
    view.row_loss[row_at(view, at.d, at.b)] = loss;
    view.exact_rows[row_at(view, at.d, at.b)] = 1;
    view.any_exact[at.d] = 1;
  }
}

// out(row, t, two sums) = sum_i x[row][i] table[i][t..t+1] for all rows of the block; x has zeros
// behind S. Two warps share the rows, four the categories.
template <typename Out>
__device__ void multiply_rows(const float* table, const float* x, int Sp, Out&& out) {
  static_assert(kMatchDims == 32 && kTileThreads == 256);
  const int warp = threadIdx.x / 32, first_row = warp % 2 * 16;
  for (int t0 = warp / 2 * 16; t0 < Sp; t0 += 64) {
    float sum[1][2][4] = {};
    add_tensor_product(SharedMatrix<0, 1>{x + first_row * row_stride(Sp), row_stride(Sp)},
                       SharedMatrix<0, 1>{table + t0, Sp}, Sp, sum);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int t = t0 + 8 * (i / 2) + sum_column();
      const float(&block)[4] = sum[0][i / 2];
      if (t < Sp) {
        out(first_row + sum_row() + 8 * (i % 2), t,
            i % 2 == 0 ? make_float2(block[0], block[1]) : make_float2(block[2], block[3]));
      }
    }
  }
}

__global__ void __launch_bounds__(kTileThreads, 3) match(MatchingView view, Batch batch) {
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, b = blockIdx.x, d0 = blockIdx.y * kMatchDims;
  const int row = threadIdx.x / kMatchLanes, lane = threadIdx.x % kMatchLanes, d = d0 + row;
  const int n = batch.n[b], after = view.num_steps - n - 1, parts = count_parts(view);
  float* q = shared;  // Q_after
  float* q_transposed = q + power_size(Sp);
  const int stride = row_stride(Sp);
  float* all_mixed = q_transposed + power_size(Sp);  // [kMatchDims][stride]: V, then flow / y
  float* all_y = all_mixed + kMatchDims * stride;
  float* all_flow = all_y + kMatchDims * stride;        // the target's logarithms, then the flow
  float* all_log_one = all_flow + kMatchDims * stride;  // log Q_1 from the row's state
  __shared__ int exact[kMatchDims];
  load_power(view, view.q + static_cast<std::size_t>(after) * S * Sp, q);
  load_power(view, view.q_transposed + static_cast<std::size_t>(after) * S * Sp, q_transposed);
  float *mixed = all_mixed + row * stride, *y = all_y + row * stride,
        *flow = all_flow + row * stride;
  const bool active = d < view.D;
  RowPlace at{b, d, n, 0, 0};
  if (active) {
    at.x = batch.x_n[static_cast<std::size_t>(b) * view.D + d];
    at.end = batch.x1[static_cast<std::size_t>(b) * view.D + d];
  }
  write_target<kMatchLanes>(view, at, flow, lane);
  float* log_one = all_log_one + row * stride;
#pragma unroll 8
  for (int s = lane; s < S; s += kMatchLanes) {
    log_one[s] = static_cast<float>(view.log_q[(static_cast<std::size_t>(S) + at.x) * S + s]);
  }
  await_predecessor();
  for (int i = threadIdx.x; i < kMatchDims * Sp / 4; i += kTileThreads) {
    const int dim = d0 + i / (Sp / 4), t = 4 * (i % (Sp / 4));
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (dim < view.D) {
      const float* partial = view.partial + row_at(view, dim, b) * Sp + t;
#pragma unroll 8
      for (int part = 0; part < parts; ++part) {
        sum = add4(sum, load4(partial + static_cast<std::size_t>(part) * view.D * view.B * Sp));
      }
    }
    *reinterpret_cast<float4*>(all_mixed + (dim - d0) * stride + t) = sum;
  }
  finish_copies();
  __syncthreads();
  multiply_rows(q_transposed, all_mixed, Sp, [&](int r, int s, float2 sum) {
    *reinterpret_cast<float2*>(all_y + r * stride + s) = sum;
  });
  __syncthreads();

  float total = 0.0f, low = INFINITY;
  for (int s = lane; s < S; s += kMatchLanes) {
    total += y[s];
    low = fminf(low, y[s]);
  }
  total = sum_of_lanes<kMatchLanes>(total);
  low = -max_of_lanes<kMatchLanes>(-low);
  const bool in_range = active && total < 1e36f && low >= kShareFloor * total && low > 0.0f;
  if (lane == 0) exact[row] = active && !in_range;
  // Lanes of rows out of range and behind D go along: the reductions need them.
  const float inverse = 1.0f / total;
  for (int s = lane; s < S; s += kMatchLanes) {
    y[s] = in_range ? y[s] * inverse : 1.0f;
    mixed[s] = log_one[s] + fast_log(y[s]);
  }
  __syncwarp();
  const double loss = row_loss<kMatchLanes>(view, step_weight(view, n), mixed, flow, lane);
  __syncwarp();
  // Behind S as well: V there is no number where a weight left its range.
  for (int s = lane; s < Sp; s += kMatchLanes) {
    mixed[s] = in_range && s < S ? __fdividef(flow[s], y[s]) : 0.0f;
  }
  if (active && lane == 0) {
    view.shift[row_at(view, d, b)] = in_range ? row_high(view, b) + logf(total) : INFINITY;
    if (in_range) {
      view.row_loss[row_at(view, d, b)] = loss;
      view.exact_rows[row_at(view, d, b)] = 0;
    }
  }
  __syncthreads();
  multiply_rows(q, all_mixed, Sp, [&](int r, int t, float2 sum) {
    if (d0 + r >= view.D) return;
    *reinterpret_cast<float2*>(view.back + row_at(view, d0 + r, b) * Sp + t) = sum;
  });
  __syncthreads();
  for (int r = threadIdx.x / 32; r < kMatchDims; r += kTileThreads / 32) {
    if (exact[r] == 0) continue;
    RowPlace place{b, d0 + r, n, 0, 0};
    place.x = batch.x_n[static_cast<std::size_t>(b) * view.D + place.d];
    place.end = batch.x1[static_cast<std::size_t>(b) * view.D + place.d];
    match_exactly(view, place, row_high(view, b), all_mixed + r * stride, all_flow + r * stride);
  }
}

std::size_t match_bytes(int Sp) {
  return sizeof(float) *
         static_cast<std::size_t>(2 * power_size(Sp) + 4 * kMatchDims * row_stride(Sp));
}

}  // namespace

void prepare_rows(const MatchingView& view) {
  allow_shared_memory(reinterpret_cast<const void*>(match), match_bytes(view.Sp), view.S);
}

void launch_rows(const MatchingView& view, const Batch& batch, cudaStream_t stream) {
  launch_overlapping(match, dim3(view.B, (view.D + kMatchDims - 1) / kMatchDims), kTileThreads,
                     match_bytes(view.Sp), stream, view, batch);
}

}  // namespace bridgemark::backend::cuda
