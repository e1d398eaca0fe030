#include "bridgemark/backend/cuda/check.h"
#include "bridgemark/backend/cuda/cp_tiles.h"

// The matching loss (cpu/matching_loss.cc has the formulas): a block works on one dimension, one
// tile of components and kPassRows rows of the batch at a time.
//   propagate_rows  log R of a tile                          [B,S] x [S,tile]
//   add_dimensions  W and its largest, for a row
//   mix             V, in slices of the components           [B,tile] x [tile,S]
//   match           y, target, loss, and back to d loss / d V, for a row
//   push_back       terms and the gradient through V         [B,S] x [S,tile], [S,B] x [B,tile]
//   add_terms       d loss / d W, for a row
//   pull_back       the gradient through R, and the update   [S,B] x [B,tile]
namespace bridgemark::backend::cuda {

namespace {

constexpr int kRows = kPassRows / kRowGroups;  // rows of the batch of one thread
constexpr int kMixStride = kTile + 4;          // rows of a tile read side by side
constexpr int kTilesOfPart = 2;
constexpr int kMixCategories = 4 * kColumnGroups;  // categories that one block of mix handles
constexpr int kMatchDims = 16;                     // dimensions that one block of match handles
constexpr int kMatchLanes = kTileThreads / kMatchDims;

// y below this share of its sum may have lost terms of V to underflow.
constexpr float kShareFloor = 1e-26f;

__device__ std::size_t row_at(const CpView& view, int d, int b) {
  return static_cast<std::size_t>(d) * view.B + b;
}

// rows[r,:] = Q_rest[x,:] for the rows of a pass, 0 behind the batch.
__device__ void load_sources(const CpView& view, const Batch& batch, int d, int b0, float* rows) {
  const int groups = view.Sp / 4;
  for (int i = threadIdx.x; i < kPassRows * groups; i += kTileThreads) {
    const int r = i / groups, t = 4 * (i % groups), b = b0 + r;
    float4 value = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (b < view.B) {
      const std::size_t power = view.num_steps - batch.n[b];
      const int x = batch.x_n[static_cast<std::size_t>(b) * view.D + d];
      value = load4(view.q + (power * view.S + x) * view.Sp + t);
    }
    *reinterpret_cast<float4*>(rows + r * view.Sp + t) = value;
  }
}

__device__ void load_back(const CpView& view, int d, int b0, float* rows) {
  const int groups = view.Sp / 4;
  for (int i = threadIdx.x; i < kPassRows * groups; i += kTileThreads) {
    const int r = i / groups, t = 4 * (i % groups), b = b0 + r;
    *reinterpret_cast<float4*>(rows + r * view.Sp + t) =
        b < view.B ? load4(view.back + row_at(view, d, b) * view.Sp + t)
                   : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
}

// Zeroes the rows of a tile that pad its categories.
__device__ void clear_padding(const CpView& view, float* tile) {
  for (int i = view.S * kTile + threadIdx.x; i < view.Sp * kTile; i += kTileThreads) tile[i] = 0.0f;
}

// sum[i][c] += sum_t rows[group + i * kRowGroups][t] tile[t][column + c].
__device__ void add_rows(const CpView& view, const float* rows, const float* tile,
                         float (&sum)[kRows][4]) {
  const float* own = rows + row_group() * view.Sp;
  const float* x = tile + tile_column();
  for (int t = 0; t < view.Sp; t += 4) {
    const float4 x0 = load4(x + t * kTile), x1 = load4(x + (t + 1) * kTile),
                 x2 = load4(x + (t + 2) * kTile), x3 = load4(x + (t + 3) * kTile);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const float4 a = load4(own + i * kRowGroups * view.Sp + t);
      sum[i][0] = fmaf(a.w, x3.x, fmaf(a.z, x2.x, fmaf(a.y, x1.x, fmaf(a.x, x0.x, sum[i][0]))));
      sum[i][1] = fmaf(a.w, x3.y, fmaf(a.z, x2.y, fmaf(a.y, x1.y, fmaf(a.x, x0.y, sum[i][1]))));
      sum[i][2] = fmaf(a.w, x3.z, fmaf(a.z, x2.z, fmaf(a.y, x1.z, fmaf(a.x, x0.z, sum[i][2]))));
      sum[i][3] = fmaf(a.w, x3.w, fmaf(a.z, x2.w, fmaf(a.y, x1.w, fmaf(a.x, x0.w, sum[i][3]))));
    }
  }
}

__global__ void __launch_bounds__(kTileThreads) propagate_rows(CpView view, Batch batch) {
  extern __shared__ float shared[];
  const int S = view.S, d = blockIdx.y, k0 = blockIdx.x * kTile, c = tile_column();
  float* tile = shared;
  float* rows = tile + view.Sp * kTile;
  __shared__ float high[kTile], scratch[kTileThreads];
  clear_padding(view, tile);
  load_scaled(view, d, k0, tile, high, scratch);
  if (threadIdx.x < kTile) {
    view.high[static_cast<std::size_t>(d) * view.Kp + k0 + threadIdx.x] = high[threadIdx.x];
  }
  if (threadIdx.x == 0 && k0 == 0) view.any_exact[d] = 0;
  for (int b0 = 0; b0 < view.B; b0 += kPassRows) {
    load_sources(view, batch, d, b0, rows);
    __syncthreads();
    float sum[kRows][4] = {};
    add_rows(view, rows, tile, sum);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int b = b0 + row_group() + i * kRowGroups;
      if (b >= view.B) continue;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& value = sum[i][j];
        if (value >= kProductFloor) {
          value = __logf(value);  // an absolute error of 1e-7 is enough
        } else {
          const std::size_t power = view.num_steps - batch.n[b];
          const int x = batch.x_n[static_cast<std::size_t>(b) * view.D + d];
          const double exact =
              exact_log_dot(view.log_q + (power * S + x) * S,
                            view.log_cores + core_at(view, d, 0, k0 + c + j), view.Kp, S);
          value = static_cast<float>(exact - static_cast<double>(high[c + j]));
        }
      }
      store4(view.log_r + row_at(view, d, b) * view.Kp + k0 + c, sum[i]);
    }
    __syncthreads();
  }
}

// Rows of the batch in slices of the components, four components a thread.
constexpr int kSliceThreads = kTilesOfPart * kTile / 4;
static_assert(kSliceThreads == 32, "a slice is one warp: its largest needs no shared memory");

__global__ void __launch_bounds__(kSliceThreads) add_dimensions(CpView view) {
  const int b = blockIdx.x, part = blockIdx.y, Kp = view.Kp;
  const int k = (part * kSliceThreads + threadIdx.x) * 4;
  float largest = -INFINITY;
  if (k < Kp) {
    float4 sum = load4(view.log_beta + k);
#pragma unroll 16
    for (int d = 0; d < view.D; ++d) {
      sum = add4(sum, add4(load4(view.log_r + row_at(view, d, b) * Kp + k),
                           load4(view.high + static_cast<std::size_t>(d) * Kp + k)));
    }
    *reinterpret_cast<float4*>(view.total + static_cast<std::size_t>(b) * Kp + k) = sum;
    largest = fmaxf(fmaxf(sum.x, sum.y), fmaxf(sum.z, sum.w));
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
  }
  if (threadIdx.x == 0) view.row_high[static_cast<std::size_t>(b) * gridDim.y + part] = largest;
}

__device__ float row_high(const CpView& view, int b, int parts) {
  float largest = -INFINITY;
  for (int part = 0; part < parts; ++part) {
    largest = fmaxf(largest, view.row_high[static_cast<std::size_t>(b) * parts + part]);
  }
  return largest;
}

// exp(W - log R_d - shift) for four components of a row.
__device__ float4 others(const CpView& view, int d, int b, int k, float shift) {
  const float4 w = load4(view.total + static_cast<std::size_t>(b) * view.Kp + k);
  const float4 r = load4(view.log_r + row_at(view, d, b) * view.Kp + k);
  return make_float4(expf(w.x - r.x - shift), expf(w.y - r.y - shift), expf(w.z - r.z - shift),
                     expf(w.w - r.w - shift));
}

__global__ void __launch_bounds__(kTileThreads) mix(CpView view) {
  extern __shared__ float shared[];
  const int S = view.S, d = blockIdx.y, part = blockIdx.x;
  const int passes = (view.B + kPassRows - 1) / kPassRows;
  const int b0 = (blockIdx.z % passes) * kPassRows, t0 = (blockIdx.z / passes) * kMixCategories;
  float* weights = shared;                          // [kPassRows][kMixStride]
  float* cores = weights + kPassRows * kMixStride;  // [kMixCategories][kMixStride]
  const int lane = threadIdx.x % kColumnGroups;
  __shared__ float highs[kPassRows];
  if (threadIdx.x < kPassRows && b0 + threadIdx.x < view.B) {
    highs[threadIdx.x] = row_high(view, b0 + threadIdx.x, gridDim.x);
  }
  float sum[kRows][4] = {};
  const int first = part * kTilesOfPart * kTile;
  const int end = min(view.Kp, first + kTilesOfPart * kTile);
  for (int k0 = first; k0 < end; k0 += kTile) {
    __syncthreads();
    for (int i = threadIdx.x; i < kPassRows * kTile / 4; i += kTileThreads) {
      const int r = i / (kTile / 4), c = 4 * (i % (kTile / 4)), b = b0 + r;
      *reinterpret_cast<float4*>(weights + r * kMixStride + c) =
          b < view.B ? others(view, d, b, k0 + c, highs[r]) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    for (int i = threadIdx.x; i < kMixCategories * kTile / 4; i += kTileThreads) {
      const int t = t0 + i / (kTile / 4), c = 4 * (i % (kTile / 4));
      float4 value = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (t < S) {
        value = load4(view.log_cores + core_at(view, d, t, k0 + c));
        const float4 high = load4(view.high + static_cast<std::size_t>(d) * view.Kp + k0 + c);
        value = make_float4(expf(value.x - high.x), expf(value.y - high.y), expf(value.z - high.z),
                            expf(value.w - high.w));
      }
      *reinterpret_cast<float4*>(cores + (t - t0) * kMixStride + c) = value;
    }
    __syncthreads();
    for (int k = 0; k < kTile; k += 4) {
      float4 x[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) x[j] = load4(cores + (lane + j * kColumnGroups) * kMixStride + k);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float4 a = load4(weights + (row_group() + i * kRowGroups) * kMixStride + k);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          sum[i][j] =
              fmaf(a.w, x[j].w, fmaf(a.z, x[j].z, fmaf(a.y, x[j].y, fmaf(a.x, x[j].x, sum[i][j]))));
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int b = b0 + row_group() + i * kRowGroups;
    if (b >= view.B) continue;
    float* out = view.partial +
                 (static_cast<std::size_t>(part) * view.D * view.B + row_at(view, d, b)) * view.Sp;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int t = t0 + lane + j * kColumnGroups;
      if (t < view.Sp) out[t] = sum[i][j];
    }
  }
}

// Reductions over the lanes that share a row: half a warp in match, a whole one on the exact path.
template <bool kMax, int kLanes = kMatchLanes, typename T>
__device__ T reduce_lanes(T value) {
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, offset, kLanes);
    value = kMax ? (value > other ? value : other) : value + other;
  }
  return value;
}

struct RowPlace {
  int b, d, n, x, end;
};

// The pinned target and, from log_weights [S], unnormalised, the loss; flow = d loss / d
// log_weights.
template <int kLanes>
__device__ double row_loss(const CpView& view, const RowPlace& at, const float* log_weights,
                           float* flow, int lane) {
  const int S = view.S, rest = view.num_steps - at.n;
  const double* log_one = view.log_q + (static_cast<std::size_t>(S) + at.x) * S;
  const double* log_after = view.log_q + static_cast<std::size_t>(rest - 1) * S * S + at.end;
  const double log_rest = view.log_q[(static_cast<std::size_t>(rest) * S + at.x) * S + at.end];
  float high = -INFINITY;
  for (int s = lane; s < S; s += kLanes) high = fmaxf(high, log_weights[s]);
  high = reduce_lanes<true, kLanes>(high);
  float sum = 0.0f;
  for (int s = lane; s < S; s += kLanes) sum += expf(log_weights[s] - high);
  sum = reduce_lanes<false, kLanes>(sum);
  const float log_sum = high + logf(sum), scale = 1.0f / static_cast<float>(view.B);
  double loss = 0.0;
  float inner = 0.0f;
  for (int s = lane; s < S; s += kLanes) {
    const double log_target = log_one[s] + log_after[static_cast<std::size_t>(s) * S] - log_rest;
    const float log_model = log_weights[s] - log_sum;
    const float target = static_cast<float>(exp(log_target)), model = expf(log_model);
    if (view.loss == CpLoss::kMatchingKl) {
      if (target > 0.0f) {
        loss += static_cast<double>(target) * (log_target - static_cast<double>(log_model));
      }
      flow[s] = scale * (model - target);
    } else {
      loss += static_cast<double>(target - model) * static_cast<double>(target - model);
      flow[s] = 2.0f * scale * (model - target);
      inner = fmaf(flow[s], model, inner);
    }
  }
  if (view.loss == CpLoss::kMatchingMse) {
    inner = reduce_lanes<false, kLanes>(inner);
    for (int s = lane; s < S; s += kLanes) {
      flow[s] = expf(log_weights[s] - log_sum) * (flow[s] - inner);
    }
  }
  return reduce_lanes<false, kLanes>(loss);
}

// One row on the exact path, by a whole warp: log V in double, and d loss / d log V.
__device__ void match_exactly(const CpView& view, const RowPlace& at, float high_of_row,
                              float* log_weights, float* flow) {
  const int S = view.S, lane = threadIdx.x % 32, rest = view.num_steps - at.n;
  const float* w = view.total + static_cast<std::size_t>(at.b) * view.Kp;
  const float* r = view.log_r + row_at(view, at.d, at.b) * view.Kp;
  const float* high = view.high + static_cast<std::size_t>(at.d) * view.Kp;
  double* log_v = view.exact_log_v + row_at(view, at.d, at.b) * S;
  double* back = view.exact_back + row_at(view, at.d, at.b) * S;
  const double* log_after = view.log_q + static_cast<std::size_t>(rest - 1) * S * S;
  for (int t = 0; t < S; ++t) {
    const float* cores = view.log_cores + core_at(view, at.d, t, 0);
    double largest = -INFINITY;
    for (int pass = 0; pass < 2; ++pass) {
      double sum = 0.0;
      for (int k = lane; k < view.K; k += 32) {
        const double value = static_cast<double>(w[k]) - static_cast<double>(r[k]) -
                             static_cast<double>(high[k]) + static_cast<double>(cores[k]);
        if (pass == 0) {
          largest = fmax(largest, value);
        } else {
          sum += exp(value - largest);
        }
      }
      for (int offset = 16; offset > 0; offset /= 2) {
        largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
      }
      if (pass == 1 && lane == 0) log_v[t] = largest + log(sum);
    }
  }
  __syncwarp();
  for (int s = lane; s < S; s += 32) {
    double largest = -INFINITY, sum = 0.0;
    for (int t = 0; t < S; ++t) largest = fmax(largest, log_after[s * S + t] + log_v[t]);
    for (int t = 0; t < S; ++t) sum += exp(log_after[s * S + t] + log_v[t] - largest);
    back[s] = largest + log(sum);  // log y until the flow is known
    log_weights[s] = static_cast<float>(view.log_q[(static_cast<std::size_t>(S) + at.x) * S + s] +
                                        back[s] - high_of_row);
  }
  __syncwarp();
  const double loss = row_loss<32>(view, at, log_weights, flow, lane);
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

// sum[j] = sum_i table[i, j * kMatchLanes] x[i], for the columns j * kMatchLanes < left.
__device__ void multiply_four(const float* table, int stride, const float* x, int inner, int left,
                              float (&sum)[4]) {
  for (int i = 0; i < inner; ++i) {
    const float value = x[i];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (j * kMatchLanes < left) {
        sum[j] = fmaf(table[i * stride + j * kMatchLanes], value, sum[j]);
      }
    }
  }
}

// One row of the batch and kMatchDims dimensions, kMatchLanes threads each.
__global__ void __launch_bounds__(kTileThreads) match(CpView view, Batch batch, int parts) {
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, b = blockIdx.x;
  const int row = threadIdx.x / kMatchLanes, lane = threadIdx.x % kMatchLanes;
  const int d = blockIdx.y * kMatchDims + row;
  const int n = batch.n[b], after = view.num_steps - n - 1;
  float* q = shared;  // Q_after
  float* q_transposed = q + S * Sp;
  float* mixed = q_transposed + S * Sp + row * 3 * Sp;  // V, later the ratio
  float* y = mixed + Sp;
  float* flow = y + Sp;
  __shared__ int exact[kMatchDims];
  load_table(view.q + static_cast<std::size_t>(after) * S * Sp, S * Sp, q);
  load_table(view.q_transposed + static_cast<std::size_t>(after) * S * Sp, S * Sp, q_transposed);
  const bool active = d < view.D;
  RowPlace at{b, d, n, 0, 0};
  if (active) {
    at.x = batch.x_n[static_cast<std::size_t>(b) * view.D + d];
    at.end = batch.x1[static_cast<std::size_t>(b) * view.D + d];
    for (int t = lane; t < S; t += kMatchLanes) {
      float sum = 0.0f;
      for (int part = 0; part < parts; ++part) {
        sum +=
            view.partial[(static_cast<std::size_t>(part) * view.D * view.B + row_at(view, d, b)) *
                             Sp +
                         t];
      }
      mixed[t] = sum;
    }
  }
  __syncthreads();
  float total = 0.0f, low = INFINITY;
  if (active) {
    for (int s0 = lane; s0 < S; s0 += 4 * kMatchLanes) {
      float sum[4] = {};
      multiply_four(q_transposed + s0, Sp, mixed, S, S - s0, sum);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (s0 + j * kMatchLanes >= S) continue;
        y[s0 + j * kMatchLanes] = sum[j];
        total += sum[j];
        low = fminf(low, sum[j]);
      }
    }
  }
  total = reduce_lanes<false>(total);
  low = -reduce_lanes<true>(-low);
  const bool in_range = total < 1e36f && low >= kShareFloor * total && low > 0.0f;
  if (lane == 0) exact[row] = active && !in_range;
  __syncwarp();
  // Lanes of rows out of range and past D go along: the reductions need whole half warps.
  const double* log_one = view.log_q + (static_cast<std::size_t>(S) + at.x) * S;
  for (int s = lane; s < S; s += kMatchLanes) {
    y[s] = active && in_range ? y[s] / total : 1.0f;
    mixed[s] = static_cast<float>(log_one[s]) + logf(y[s]);
  }
  __syncwarp();
  const double loss = row_loss<kMatchLanes>(view, at, mixed, flow, lane);
  __syncwarp();
  if (active && in_range) {
    for (int s = lane; s < S; s += kMatchLanes) mixed[s] = flow[s] / y[s];
  }
  __syncwarp();
  if (active) {
    float* back = view.back + row_at(view, d, b) * Sp;
    for (int t0 = lane; t0 < Sp; t0 += 4 * kMatchLanes) {
      float sum[4] = {};
      if (in_range) multiply_four(q + t0, Sp, mixed, S, S - t0, sum);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (t0 + j * kMatchLanes < Sp) back[t0 + j * kMatchLanes] = sum[j];
      }
    }
    if (lane == 0) {
      view.shift[row_at(view, d, b)] = in_range ? row_high(view, b, parts) + logf(total) : INFINITY;
      if (in_range) {
        view.row_loss[row_at(view, d, b)] = loss;
        view.exact_rows[row_at(view, d, b)] = 0;
      }
    }
  }
  __syncthreads();
  const int warp = threadIdx.x / 32;
  for (int r = warp; r < kMatchDims; r += kTileThreads / 32) {
    if (exact[r] == 0) continue;
    RowPlace place{b, static_cast<int>(blockIdx.y) * kMatchDims + r, n, 0, 0};
    place.x = batch.x_n[static_cast<std::size_t>(b) * view.D + place.d];
    place.end = batch.x1[static_cast<std::size_t>(b) * view.D + place.d];
    float* own = shared + 2 * S * Sp + r * 3 * Sp;
    match_exactly(view, place, row_high(view, b, parts), own, own + 2 * Sp);
  }
}

// Rows of the exact path: their terms, and their part of the gradient of the cores.
__device__ void push_back_exactly(const CpView& view, int d, int k0) {
  if (threadIdx.x >= kTile) return;
  const int k = k0 + threadIdx.x;
  for (int t = 0; t < view.S; ++t) view.exact_gradient[core_at(view, d, t, k)] = 0.0f;
  for (int b = 0; b < view.B; ++b) {
    const std::size_t row = row_at(view, d, b);
    if (view.exact_rows[row] == 0) continue;
    const double log_other =
        static_cast<double>(view.total[static_cast<std::size_t>(b) * view.Kp + k]) -
        static_cast<double>(view.log_r[row * view.Kp + k]) -
        static_cast<double>(view.high[static_cast<std::size_t>(d) * view.Kp + k]);
    double term = 0.0;
    for (int t = 0; t < view.S; ++t) {
      const std::size_t at = core_at(view, d, t, k);
      const double share = view.exact_back[row * view.S + t] *
                           exp(log_other + static_cast<double>(view.log_cores[at]) -
                               view.exact_log_v[row * view.S + t]);
      term += share;
      view.exact_gradient[at] += static_cast<float>(share);
    }
    view.terms[row * view.Kp + k] = static_cast<float>(term);
  }
}

__global__ void __launch_bounds__(kTileThreads) push_back(CpView view) {
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, d = blockIdx.y, k0 = blockIdx.x * kTile, c = tile_column();
  float* tile = shared;                    // [Sp][kTile]
  float* rows = tile + Sp * kTile;         // [kPassRows][Sp]
  float* weights = rows + kPassRows * Sp;  // [kPassRows][kTile]
  __shared__ float high[kTile], scratch[kTileThreads];
  clear_padding(view, tile);
  load_scaled(view, d, k0, tile, high, scratch);
  for (int b0 = 0; b0 < view.B; b0 += kPassRows) {
    if (b0 > 0) __syncthreads();
    load_back(view, d, b0, rows);
    for (int i = 0; i < kRows; ++i) {
      const int r = row_group() + i * kRowGroups, b = b0 + r;
      *reinterpret_cast<float4*>(weights + r * kTile + c) =
          b < view.B ? others(view, d, b, k0 + c, view.shift[row_at(view, d, b)])
                     : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    __syncthreads();
    float sum[kRows][4] = {};
    add_rows(view, rows, tile, sum);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int r = row_group() + i * kRowGroups, b = b0 + r;
      if (b >= view.B) continue;
      const float4 weight = load4(weights + r * kTile + c);
      const float term[4] = {sum[i][0] * weight.x, sum[i][1] * weight.y, sum[i][2] * weight.z,
                             sum[i][3] * weight.w};
      store4(view.terms + row_at(view, d, b) * view.Kp + k0 + c, term);
    }
    for (int t0 = 4 * row_group(); t0 < S; t0 += 4 * kRowGroups) {
      float own[4][4] = {};
      add_product(rows + t0, Sp, weights + c, kPassRows, own);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (t0 + i >= S) continue;
        float* out = view.mixed_gradient + core_at(view, d, t0 + i, k0 + c);
        if (b0 > 0) {
#pragma unroll
          for (int j = 0; j < 4; ++j) own[i][j] += out[j];
        }
        store4(out, own[i]);
      }
    }
  }
  if (view.any_exact[d] != 0) {
    __syncthreads();
    push_back_exactly(view, d, k0);
  }
}

__global__ void __launch_bounds__(kSliceThreads) add_terms(CpView view) {
  const int b = blockIdx.x, Kp = view.Kp;
  const int k = static_cast<int>(blockIdx.y * kSliceThreads + threadIdx.x) * 4;
  if (k >= Kp) return;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 16
  for (int d = 0; d < view.D; ++d) sum = add4(sum, load4(view.terms + row_at(view, d, b) * Kp + k));
  *reinterpret_cast<float4*>(view.total_terms + static_cast<std::size_t>(b) * Kp + k) = sum;
}

__device__ float through_log(float total, float term, float log_r, int& any_exact) {
  if (log_r >= kLogProductFloor) return (total - term) * expf(-log_r);
  if (total != term) any_exact = 1;
  return 0.0f;
}

// Entries of R on the exact path: their shares, added to what push_back_exactly left.
__device__ void pull_back_exactly(const CpView& view, const Batch& batch, int d, int k) {
  float* out = view.exact_gradient + core_at(view, d, 0, k);
  if (view.any_exact[d] == 0) {
    for (int t = 0; t < view.S; ++t) out[static_cast<std::size_t>(t) * view.Kp] = 0.0f;
  }
  const double high = view.high[static_cast<std::size_t>(d) * view.Kp + k];
  for (int b = 0; b < view.B; ++b) {
    const std::size_t at = row_at(view, d, b) * view.Kp + k;
    if (view.log_r[at] >= kLogProductFloor) continue;
    const float weight =
        view.total_terms[static_cast<std::size_t>(b) * view.Kp + k] - view.terms[at];
    if (weight == 0.0f) continue;
    const std::size_t power = view.num_steps - batch.n[b];
    const int x = batch.x_n[static_cast<std::size_t>(b) * view.D + d];
    add_exact_shares(view.log_q + (power * view.S + x) * view.S,
                     view.log_cores + core_at(view, d, 0, k), view.Kp, view.S,
                     static_cast<double>(view.log_r[at]) + high, weight, out);
  }
}

// Blocks of categories that one thread's sums cover: 4 rows in each of kRowGroups groups.
constexpr int kGradientRows = 4 * kRowGroups;

__global__ void __launch_bounds__(kTileThreads) pull_back(CpView view, Batch batch) {
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, d = blockIdx.y, k0 = blockIdx.x * kTile, c = tile_column();
  float* rows = shared;                    // [kPassRows][Sp]
  float* weights = rows + kPassRows * Sp;  // [kPassRows][kTile]
  __shared__ int any_exact;
  if (threadIdx.x == 0) any_exact = 0;
  for (int block = 0; block < S; block += kGradientRows) {
    const int t0 = block + 4 * row_group();
    float sum[4][4] = {};
    for (int b0 = 0; b0 < view.B; b0 += kPassRows) {
      __syncthreads();
      load_sources(view, batch, d, b0, rows);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int r = row_group() + i * kRowGroups, b = b0 + r;
        float out[4] = {};
        if (b < view.B) {
          const std::size_t at = row_at(view, d, b) * view.Kp + k0 + c;
          const float4 total =
              load4(view.total_terms + static_cast<std::size_t>(b) * view.Kp + k0 + c);
          const float4 term = load4(view.terms + at), log_r = load4(view.log_r + at);
          out[0] = through_log(total.x, term.x, log_r.x, any_exact);
          out[1] = through_log(total.y, term.y, log_r.y, any_exact);
          out[2] = through_log(total.z, term.z, log_r.z, any_exact);
          out[3] = through_log(total.w, term.w, log_r.w, any_exact);
        }
        store4(weights + r * kTile + c, out);
      }
      __syncthreads();
      if (t0 < S) add_product(rows + t0, Sp, weights + c, kPassRows, sum);
    }
    if (block == 0 && any_exact != 0) {
      if (threadIdx.x < kTile) pull_back_exactly(view, batch, d, k0 + threadIdx.x);
      __syncthreads();
    }
    const float4 high = load4(view.high + static_cast<std::size_t>(d) * view.Kp + k0 + c);
    const bool exact = any_exact != 0 || view.any_exact[d] != 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (t0 + i >= S) continue;
      const std::size_t at = core_at(view, d, t0 + i, k0 + c);
      const float4 core = load4(view.log_cores + at), mixed = load4(view.mixed_gradient + at);
      float gradient[4] = {(sum[i][0] + mixed.x) * expf(core.x - high.x),
                           (sum[i][1] + mixed.y) * expf(core.y - high.y),
                           (sum[i][2] + mixed.z) * expf(core.z - high.z),
                           (sum[i][3] + mixed.w) * expf(core.w - high.w)};
      if (exact) {
#pragma unroll
        for (int j = 0; j < 4; ++j) gradient[j] += view.exact_gradient[at + j];
      }
      finish_cores(view, at, core, gradient);
    }
  }
  if (d == 0) {
    __shared__ float scratch[kTileThreads];
    float beta = 0.0f;
#pragma unroll 8
    for (int b = threadIdx.x / kTile; b < view.B; b += kTileThreads / kTile) {
      beta += view.total_terms[static_cast<std::size_t>(b) * view.Kp + k0 + threadIdx.x % kTile];
    }
    beta = add_quarters(beta, scratch);
    if (threadIdx.x < kTile) finish_beta(view, k0 + threadIdx.x, beta);
  }
}

__global__ void __launch_bounds__(kTileThreads) sum_losses(CpView view) {
  __shared__ double sums[kTileThreads];
  double sum = add_all(view.row_loss, view.D * view.B, sums) / view.B;
  if (threadIdx.x != 0) return;
  if (view.entropy > 0.0f) sum += static_cast<double>(view.entropy * view.entropy_of_beta[1]);
  view.losses[view.progress->local] = sum;
}

std::size_t tile_bytes(int Sp) { return sizeof(float) * static_cast<std::size_t>(Sp) * kTile; }
std::size_t rows_bytes(int Sp) { return sizeof(float) * static_cast<std::size_t>(Sp) * kPassRows; }
constexpr std::size_t kWeightsBytes = sizeof(float) * kPassRows * kTile;
constexpr std::size_t kMixBytes = sizeof(float) * (kPassRows + kMixCategories) * kMixStride;
std::size_t propagate_bytes(int Sp) { return tile_bytes(Sp) + rows_bytes(Sp); }
std::size_t push_back_bytes(int Sp) { return propagate_bytes(Sp) + kWeightsBytes; }
std::size_t pull_back_bytes(int Sp) { return rows_bytes(Sp) + kWeightsBytes; }
std::size_t match_bytes(int S, int Sp) {
  return sizeof(float) *
         (2 * static_cast<std::size_t>(S) * Sp + kMatchDims * 3 * static_cast<std::size_t>(Sp));
}

}  // namespace

int matching_parts(int padded_components) {
  return (padded_components + kTilesOfPart * kTile - 1) / (kTilesOfPart * kTile);
}

void prepare_matching(int num_categories) {
  const int S = num_categories, Sp = (S + 3) / 4 * 4;
  const auto allow = [&](auto kernel, std::size_t bytes) {
    allow_shared_memory(reinterpret_cast<const void*>(kernel), bytes, S);
  };
  allow(propagate_rows, propagate_bytes(Sp));
  allow(mix, kMixBytes);
  allow(match, match_bytes(S, Sp));
  allow(push_back, push_back_bytes(Sp));
  allow(pull_back, pull_back_bytes(Sp));
}

void launch_matching(const CpView& view, const Batch& batch, cudaStream_t stream) {
  const int passes = (view.B + kPassRows - 1) / kPassRows;
  const int blocks_of_categories = (view.S + kMixCategories - 1) / kMixCategories;
  const int parts = matching_parts(view.Kp);
  const dim3 tiles(view.Kp / kTile, view.D);
  propagate_rows<<<tiles, kTileThreads, propagate_bytes(view.Sp), stream>>>(view, batch);
  add_dimensions<<<dim3(view.B, parts), kSliceThreads, 0, stream>>>(view);
  mix<<<dim3(parts, view.D, passes * blocks_of_categories), kTileThreads, kMixBytes, stream>>>(
      view);
  match<<<dim3(view.B, (view.D + kMatchDims - 1) / kMatchDims), kTileThreads,
          match_bytes(view.S, view.Sp), stream>>>(view, batch, parts);
  push_back<<<tiles, kTileThreads, push_back_bytes(view.Sp), stream>>>(view);
  add_terms<<<dim3(view.B, parts), kSliceThreads, 0, stream>>>(view);
  pull_back<<<tiles, kTileThreads, pull_back_bytes(view.Sp), stream>>>(view, batch);
  sum_losses<<<1, kTileThreads, 0, stream>>>(view);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
