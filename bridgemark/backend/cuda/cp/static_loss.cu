#include <type_traits>

#include "bridgemark/backend/cuda/cp/cp_tiles.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/check.h"

// loss = mean log c(x0) - mean log v(x1) in two kernels: gather and add over dimensions for a row;
// then, for a tile, collect what the rows in each state weigh, pull it back through the reference,
// update the cores and propagate them for the next gather. Ranks exchange the maximum and the sum
// of each row in between.
namespace bridgemark::backend::cuda {

namespace {

// The reference's whole power, or its transpose.
__device__ const float* whole_power(const StaticView& view, const float* powers) {
  return powers + static_cast<std::size_t>(view.num_steps) * view.S * view.Sp;
}

// Entries of log u that propagate_tile left at -infinity.
template <int Tile>
__device__ void propagate_exactly(const StaticView& view, int d, int k0) {
  const std::size_t last = static_cast<std::size_t>(view.num_steps) * view.S;
  for (int i = threadIdx.x; i < view.S * Tile; i += kTileThreads) {
    const int s = i / Tile, k = k0 + i % Tile;
    float& log_u = view.log_u[core_at(view, d, s, k)];
    if (log_u > -INFINITY) continue;
    log_u =
        static_cast<float>(exact_log_dot(view.log_q + (last + s) * view.S,
                                         view.log_cores + core_at(view, d, 0, k), view.Kp, view.S));
  }
}

// log u = log of power x cores for a tile of log-cores that all threads see. The tile is lost.
template <int Tile>
__device__ void propagate_tile(const StaticView& view, int d, int k0, const float* power_transposed,
                               float* tile, float* scratch) {
  using T = Tiling<Tile>;
  __shared__ float high[Tile];
  scale_columns<Tile>(view, d, k0, tile, high, scratch);
  bool out_of_range = false;
  for (int s0 = 0; s0 + T::warp_row() < view.S; s0 += kBlockCategories) {
    float sum[1][T::kWarpColumns][4] = {};
    multiply_power<Tile>(view, power_transposed, s0, tile, sum);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int s = s0 + T::warp_row() + sum_row() + 8 * half;
      if (s >= view.S) continue;
      float* out = view.log_u + core_at(view, d, s, k0 + T::warp_column() + sum_column());
#pragma unroll
      for (int j = 0; j < T::kWarpColumns; ++j) {
        const float first = sum[0][j][2 * half], second = sum[0][j][2 * half + 1];
        const float2 own =
            *reinterpret_cast<const float2*>(high + T::warp_column() + 8 * j + sum_column());
        out_of_range |= fminf(first, second) < kProductFloor;
        *reinterpret_cast<float2*>(out + 8 * j) =
            make_float2(first >= kProductFloor ? fast_log(first) + own.x : -INFINITY,
                        second >= kProductFloor ? fast_log(second) + own.y : -INFINITY);
      }
    }
  }
  if (__syncthreads_or(out_of_range)) propagate_exactly<Tile>(view, d, k0);
}

template <int Tile>
__global__ void __launch_bounds__(kTileThreads) propagate(StaticView view) {
  extern __shared__ float shared[];
  __shared__ float scratch[kTileThreads];
  const int d = blockIdx.y, k0 = blockIdx.x * Tile;
  float* power = shared;
  float* tile = power + power_size(view.Sp);
  load_power(view, whole_power(view, view.q_transposed), power);
  load_cores<Tile>(view, d, k0, tile);
  finish_copies();
  __syncthreads();
  propagate_tile<Tile>(view, d, k0, power, tile, scratch);
}

// What turns a row's weights into its share of the batch mean, and its part of the loss.
__device__ void finish_row(const StaticView& view, int side, int b, float factor, double log_sum) {
  view.factors[side][b] = factor;
  view.row_loss[side * view.B + b] = side == 0 ? log_sum : -log_sum;
}

// weights[b,:] = exp(log_beta + sum over d of the table's rows - maximum), with what divides them.
__global__ void __launch_bounds__(kTileThreads, 4) gather(StaticView view, Batch batch) {
  extern __shared__ int states[];
  __shared__ float scratch[kTileThreads / 32];
  const int side = blockIdx.y, b = blockIdx.x, D = view.D, Kp = view.Kp;
  const std::int32_t* x = (side == 0 ? batch.x0 : batch.x1) + static_cast<std::size_t>(b) * D;
  const float* source = side == 0 ? view.log_u : view.log_cores;
  for (int d = threadIdx.x; d < D; d += kTileThreads) states[d] = d * view.S + x[d];
  __syncthreads();
  float* row = view.weights[side] + static_cast<std::size_t>(b) * Kp;
  float largest = -INFINITY;
  for (int k = 4 * threadIdx.x; k < Kp; k += 4 * kTileThreads) {
    float4 sum = load4(view.log_beta + k);
#pragma unroll 8
    for (int d = 0; d < D; ++d) {
      sum = add4(sum, load4(source + static_cast<std::size_t>(states[d]) * Kp + k));
    }
    *reinterpret_cast<float4*>(row + k) = sum;
    largest = fmaxf(largest, fmaxf(fmaxf(sum.x, sum.y), fmaxf(sum.z, sum.w)));
  }
  const float high = reduce_block<true>(largest, scratch);
  float total = 0.0f;
  for (int k = 4 * threadIdx.x; k < Kp; k += 4 * kTileThreads) {
    float4 value = load4(row + k);
    value = fast_exp(subtract4(value, make_float4(high, high, high, high)));
    *reinterpret_cast<float4*>(row + k) = value;
    total += (value.x + value.y) + (value.z + value.w);
  }
  total = reduce_block<false>(total, scratch);
  if (threadIdx.x != 0) return;
  if (view.row_sums.count > 0) {
    const int i = side * view.B + b;
    view.row_sums.own_high[i] = view.row_sums.high[i] = static_cast<double>(high);
    view.row_sums.sum[i] = static_cast<double>(total);
  } else {
    finish_row(view, side, b, 1.0f / (total * static_cast<float>(view.B)),
               static_cast<double>(high) + log(static_cast<double>(total)));
  }
}

// What gather leaves to the sums of all ranks.
__global__ void finish_shared_rows(StaticView view) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= 2 * view.B) return;
  const RankSums& sums = view.row_sums;
  finish_row(view, i / view.B, i % view.B,
             static_cast<float>(exp(sums.own_high[i] - sums.high[i]) / (sums.sum[i] * view.B)),
             sums.high[i] + log(sums.sum[i]));
}

// One block for each dimension, side, batch and pass of rows.
__global__ void sort_states(StaticView view, Batch batches) {
  __shared__ int states[kPassRows];
  const int d = blockIdx.z, side = blockIdx.y;
  const int pass = blockIdx.x % view.passes, first = pass * kPassRows;
  const Batch batch = batch_at(view, batches, blockIdx.x / view.passes);
  const int rows = min(kPassRows, view.B - first), own = threadIdx.x;
  const std::size_t row = static_cast<std::size_t>(side) * view.D + d;
  const std::int32_t* x = side == 0 ? batch.x0 : batch.x1;
  if (own < rows) states[own] = x[static_cast<std::size_t>(first + own) * view.D + d];
  __syncthreads();
  if (own >= rows) return;
  int rank = 0;
  for (int other = 0; other < rows; ++other) {
    rank += states[other] < states[own] || (states[other] == states[own] && other < own);
  }
  batch.order[row * view.B + first + rank] = states[own] * kPassRows + own;
}

// The rows of a pass on both sides, sorted by state, are weighed in kRuns runs of kRunRows rows
// each, so that all have the same work and the loads of a run are on their way at once. The first
// state of a run may be the last one of the run before: what a run has of it stays apart, as its
// head, and is added at the end.
constexpr int kRuns = 16, kRunRows = kPassRows / kRuns;

struct SortedPass {
  std::int32_t order[2][kPassRows];  // state * kPassRows + row, -1 behind the batch
  float factors[2][kPassRows];       // of these rows
  std::int32_t head[2][kRuns];       // state of the run's head
};

__device__ void load_pass(const StaticView& view, const Batch& batch, int d, int first,
                          SortedPass& out) {
  const int rows = min(kPassRows, view.B - first);
  for (int i = threadIdx.x; i < 2 * kPassRows; i += kTileThreads) {
    const int side = i / kPassRows, at = i % kPassRows;
    const std::size_t row = static_cast<std::size_t>(side) * view.D + d;
    const int own = at < rows ? batch.order[row * view.B + first + at] : -1;
    out.order[side][at] = own;
    out.factors[side][at] = own < 0 ? 0.0f : view.factors[side][first + own % kPassRows];
    if (at % kRunRows == 0) out.head[side][at / kRunRows] = own < 0 ? -1 : own / kPassRows;
  }
}

// Adds what the rows of a pass in each state weigh to sums[side][state], sides side_size apart and
// states kStride; heads has room for [2][kRuns][Tile]. kByDim: each dimension has weights of its
// own.
template <int Tile, bool kByDim>
__device__ void weigh_pass(const StaticView& view, const SortedPass& pass, int d, int first, int k0,
                           float* sums, int side_size, float* heads) {
  using T = Tiling<Tile>;
  const int c = T::column();
  for (int i = T::row(); i < 2 * kRuns; i += T::kRowGroups) {
    const int side = i / kRuns, run = i % kRuns;
    const float* weights = view.weights[side] + static_cast<std::size_t>(first) * view.Kp + k0 + c;
    if constexpr (kByDim) weights += d * view.weights_of_dim;
    float4 weight[kRunRows];
    int state[kRunRows];
#pragma unroll
    for (int j = 0; j < kRunRows; ++j) {
      const int own = pass.order[side][run * kRunRows + j];
      state[j] = own < 0 ? -1 : own / kPassRows;
      weight[j] = own < 0 ? make_float4(0.0f, 0.0f, 0.0f, 0.0f)
                          : load4(weights + (own % kPassRows) * view.Kp);
    }
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    bool head = true;
#pragma unroll
    for (int j = 0; j < kRunRows; ++j) {
      const float factor = pass.factors[side][run * kRunRows + j];
      sum.x = fmaf(weight[j].x, factor, sum.x);
      sum.y = fmaf(weight[j].y, factor, sum.y);
      sum.z = fmaf(weight[j].z, factor, sum.z);
      sum.w = fmaf(weight[j].w, factor, sum.w);
      if (j + 1 < kRunRows && state[j + 1] == state[j]) continue;
      if (head) {
        *reinterpret_cast<float4*>(heads + i * Tile + c) = sum;
      } else if (state[j] >= 0) {
        float4* out =
            reinterpret_cast<float4*>(sums + side * side_size + state[j] * T::kStride + c);
        *out = add4(*out, sum);
      }
      head = false;
      sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
  }
  __syncthreads();
  // The first of several heads with the same state adds them all.
  for (int i = threadIdx.x; i < 2 * kRuns * Tile; i += kTileThreads) {
    const int side = i / Tile / kRuns, run = i / Tile % kRuns, state = pass.head[side][run];
    if (state < 0 || (run > 0 && pass.head[side][run - 1] == state)) continue;
    float sum = 0.0f;
    for (int other = run; other < kRuns && pass.head[side][other] == state; ++other) {
      sum += heads[(side * kRuns + other) * Tile + i % Tile];
    }
    sums[side * side_size + state * T::kStride + i % Tile] += sum;
  }
}

// Shares of log u where u left its range, one column a thread.
template <bool kByDim>
__device__ void pull_back_exactly(const StaticView& view, const Batch& batch, int d, int k) {
  const std::size_t Kp = view.Kp, last = static_cast<std::size_t>(view.num_steps) * view.S;
  float* out = view.exact_gradient + core_at(view, d, 0, k);
  for (int t = 0; t < view.S; ++t) out[t * Kp] = 0.0f;
  for (int b = 0; b < view.B; ++b) {
    const int s = batch.x0[static_cast<std::size_t>(b) * view.D + d];
    const float log_u = view.log_u[core_at(view, d, s, k)];
    if (log_u - view.high[d * Kp + k] >= kLogProductFloor) continue;
    const std::size_t at = b * Kp + k + (kByDim ? d * view.weights_of_dim : 0);
    const float weight = view.weights[0][at] * view.factors[0][b];
    if (weight == 0.0f) continue;
    add_exact_shares(view.log_q + (last + s) * view.S, view.log_cores + core_at(view, d, 0, k),
                     view.Kp, view.S, log_u, weight, out);
  }
}

// d loss / d u = weight / u. Where u left its range the share goes the exact way.
__device__ float over_product(float weight, float log_product, int& any_exact) {
  if (log_product >= kLogProductFloor) return weight * fast_exp(-log_product);
  if (weight != 0.0f) any_exact = 1;
  return 0.0f;
}

template <int Tile, bool kByDim>
__global__ void __launch_bounds__(kTileThreads, 3) update_tile(StaticView view, Batch batch) {
  using T = Tiling<Tile>;
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, d = blockIdx.y, k0 = blockIdx.x * Tile, c = T::column();
  float* power = shared;                    // of the reference, later its transpose
  float* ratios = power + power_size(Sp);   // [Sp][kStride]: weights of x0, then d loss / d u
  float* asked = ratios + Sp * T::kStride;  // [Sp][kStride]: weights of x1
  // [blocks of categories][kStride]: heads, the gradient without its factor, the new cores
  float* tile = asked + Sp * T::kStride;
  __shared__ SortedPass pass;
  __shared__ double scratch[2 * kTileThreads];
  __shared__ int any_exact;
  if (threadIdx.x == 0) any_exact = 0;
  load_power(view, whole_power(view, view.q), power);
  for (int i = 4 * threadIdx.x; i < 2 * Sp * T::kStride; i += 4 * kTileThreads) {
    *reinterpret_cast<float4*>(ratios + i) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  for (int first = 0; first < view.B; first += kPassRows) {
    load_pass(view, batch, d, first, pass);
    __syncthreads();
    weigh_pass<Tile, kByDim>(view, pass, d, first, k0, ratios, Sp * T::kStride, tile);
    __syncthreads();
  }
  finish_copies();

  const float4 high = load4(view.high + static_cast<std::size_t>(d) * view.Kp + k0 + c);
  float4 beta = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
  for (int s = T::row(); s < S; s += T::kRowGroups) {
    const float4 weight = load4(ratios + s * T::kStride + c);
    const float4 log_product = subtract4(load4(view.log_u + core_at(view, d, s, k0 + c)), high);
    const float ratio[4] = {over_product(weight.x, log_product.x, any_exact),
                            over_product(weight.y, log_product.y, any_exact),
                            over_product(weight.z, log_product.z, any_exact),
                            over_product(weight.w, log_product.w, any_exact)};
    store4(ratios + s * T::kStride + c, ratio);
    if (d == 0) beta = add4(beta, subtract4(weight, load4(asked + s * T::kStride + c)));
  }
  __syncthreads();
  if (any_exact != 0) {
    if (threadIdx.x < Tile) pull_back_exactly<kByDim>(view, batch, d, k0 + threadIdx.x);
    __syncthreads();
  }
  if (d == 0 && k0 == 0) add_up_loss(view, 2 * view.B, scratch);

  for (int t0 = 0; t0 < S; t0 += kBlockCategories) {
    float sum[1][T::kWarpColumns][4] = {};
    multiply_power<Tile>(view, power, t0, ratios, sum);
    store_sums<Tile>(sum, tile + t0 * T::kStride);
  }
  __syncthreads();
  load_power(view, whole_power(view, view.q_transposed), power);
#pragma unroll 2
  for (int t = T::row(); t < S; t += T::kRowGroups) {
    const std::size_t at = core_at(view, d, t, k0 + c);
    const float4 core = load4(view.log_cores + at), factor = fast_exp(subtract4(core, high));
    const float4 pulled = load4(tile + t * T::kStride + c), own = load4(asked + t * T::kStride + c);
    float gradient[4] = {fmaf(pulled.x, factor.x, -own.x), fmaf(pulled.y, factor.y, -own.y),
                         fmaf(pulled.z, factor.z, -own.z), fmaf(pulled.w, factor.w, -own.w)};
    if (any_exact != 0) {
#pragma unroll
      for (int i = 0; i < 4; ++i) gradient[i] += view.exact_gradient[at + i];
    }
    *reinterpret_cast<float4*>(tile + t * T::kStride + c) = finish_cores(view, at, core, gradient);
  }
  finish_copies();
  __syncthreads();
  float* floats = reinterpret_cast<float*>(scratch);
  if (d == 0) {
    add_up_beta<Tile>(view, k0, beta, floats);
    __syncthreads();
  }
  if (view.gradient_cores == nullptr) propagate_tile<Tile>(view, d, k0, power, tile, floats);
}

template <int Tile>
std::size_t propagate_bytes(int S, int Sp) {
  const int rows = (S + kBlockCategories - 1) / kBlockCategories * kBlockCategories;
  return sizeof(float) * static_cast<std::size_t>(power_size(Sp) + rows * Tiling<Tile>::kStride);
}

template <int Tile>
std::size_t update_bytes(int S, int Sp) {
  return propagate_bytes<Tile>(S, Sp) +
         sizeof(float) * static_cast<std::size_t>(2 * Sp * Tiling<Tile>::kStride);
}

// The widest tiles that still give every multiprocessor work and that fit it, as a type's value.
template <typename Launch>
void with_tile(const StaticView& view, Launch&& launch) {
  constexpr int kBlocksWanted = 256;
  const int components = view.D * view.Kp;
  const std::size_t room = max_shared_memory();
  if (view.Kp % 64 == 0 && components / 64 >= kBlocksWanted &&
      update_bytes<64>(view.S, view.Sp) <= room) {
    launch(std::integral_constant<int, 64>());
  } else if (components / 32 >= kBlocksWanted && update_bytes<32>(view.S, view.Sp) <= room) {
    launch(std::integral_constant<int, 32>());
  } else {
    launch(std::integral_constant<int, 16>());
  }
}

}  // namespace

void prepare_static(const StaticView& view) {
  with_tile(view, [&](auto tile) {
    allow_shared_memory(reinterpret_cast<const void*>(propagate<tile>),
                        propagate_bytes<tile>(view.S, view.Sp), view.S);
    for (const auto kernel : {update_tile<tile, false>, update_tile<tile, true>}) {
      allow_shared_memory(reinterpret_cast<const void*>(kernel),
                          update_bytes<tile>(view.S, view.Sp), view.S);
    }
  });
}

void launch_sort(const StaticView& view, const Batch& batches, int count, cudaStream_t stream) {
  sort_states<<<dim3(view.passes * count, 2, view.D), kPassRows, 0, stream>>>(view, batches);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_propagate(const StaticView& view, cudaStream_t stream) {
  with_tile(view, [&](auto tile) {
    propagate<tile><<<dim3(view.Kp / tile, view.D), kTileThreads,
                      propagate_bytes<tile>(view.S, view.Sp), stream>>>(view);
  });
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_static(const StaticView& view, const Batch& batch, DeviceRanks* ranks,
                   cudaStream_t stream) {
  // Rounded up: the compiler reads the states four at a time.
  const std::size_t states = sizeof(int) * static_cast<std::size_t>((view.D + 3) / 4 * 4);
  gather<<<dim3(view.B, 2), kTileThreads, states, stream>>>(view, batch);
  if (ranks != nullptr) {
    launch_exchange(view.row_sums, ranks, stream);
    finish_shared_rows<<<blocks_for(2 * static_cast<std::size_t>(view.B)), kThreads, 0, stream>>>(
        view);
  }
  launch_weighed(view, batch, stream);
}

void launch_weighed(const StaticView& view, const Batch& batch, cudaStream_t stream) {
  with_tile(view, [&](auto tile) {
    const auto kernel =
        view.weights_of_dim > 0 ? update_tile<tile, true> : update_tile<tile, false>;
    kernel<<<dim3(view.Kp / tile, view.D), kTileThreads, update_bytes<tile>(view.S, view.Sp),
             stream>>>(view, batch);
  });
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
