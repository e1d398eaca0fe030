#include <type_traits>

#include "bridgemark/backend/cuda/check.h"
#include "bridgemark/backend/cuda/cp_tiles.h"

// loss = mean log c(x0) - mean log v(x1) in two kernels: gather and add over dimensions for a row;
// then, for a tile, collect what the rows in each state weigh, pull it back through the reference,
// update the cores and propagate them for the next gather.
namespace bridgemark::backend::cuda {

namespace {

// The reference's whole power, or its transpose.
__device__ const float* whole_power(const CpView& view, const float* powers) {
  return powers + static_cast<std::size_t>(view.num_steps) * view.S * view.Sp;
}

// log u = log of power x cores for a tile of log-cores that all threads see. The tile is lost.
template <int Tile>
__device__ void propagate_tile(const CpView& view, int d, int k0, const float* power_transposed,
                               float* tile, float* scratch) {
  using T = Tiling<Tile>;
  __shared__ float high[Tile];
  scale_columns<Tile>(view, d, k0, tile, high, scratch);
  for (int s0 = 0; s0 < view.S; s0 += kBlockCategories) {
    if (s0 + T::warp_row() >= view.S) break;
    float sum[1][T::kWarpColumns][4] = {};
    multiply_power<Tile>(view, power_transposed, s0, tile, sum);
#pragma unroll
    for (int j = 0; j < T::kWarpColumns; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int s = s0 + T::warp_row() + sum_row() + 8 * half;
        const int c = T::warp_column() + 8 * j + sum_column();
        if (s >= view.S) continue;
        float out[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float value = sum[0][j][2 * half + i];
          if (value >= kProductFloor) {
            out[i] = __logf(value) + high[c + i];  // an absolute error of 1e-7 is enough
          } else {
            const double* log_q =
                view.log_q + (static_cast<std::size_t>(view.num_steps) * view.S + s) * view.S;
            out[i] = static_cast<float>(exact_log_dot(
                log_q, view.log_cores + core_at(view, d, 0, k0 + c + i), view.Kp, view.S));
          }
        }
        *reinterpret_cast<float2*>(view.log_u + core_at(view, d, s, k0 + c)) =
            make_float2(out[0], out[1]);
      }
    }
  }
}

template <int Tile>
__global__ void __launch_bounds__(kTileThreads) propagate(CpView view) {
  extern __shared__ float shared[];
  __shared__ float scratch[kTileThreads];
  const int d = blockIdx.y, k0 = blockIdx.x * Tile;
  float* power = shared;
  float* tile = power + power_size(view.Sp);
  load_power(view, whole_power(view, view.q_transposed), power);
  load_cores<Tile>(view, d, k0, tile);
  __syncthreads();
  propagate_tile<Tile>(view, d, k0, power, tile, scratch);
}

// weights[b,:] = exp(log_beta + sum over d of the table's rows - maximum), with what divides them.
__global__ void __launch_bounds__(kTileThreads) gather(CpView view, Batch batch) {
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
      const float4 value = load4(source + static_cast<std::size_t>(states[d]) * Kp + k);
      sum.x += value.x;
      sum.y += value.y;
      sum.z += value.z;
      sum.w += value.w;
    }
    *reinterpret_cast<float4*>(row + k) = sum;
    largest = fmaxf(largest, fmaxf(fmaxf(sum.x, sum.y), fmaxf(sum.z, sum.w)));
  }
  const float high = reduce_block<true>(largest, scratch);
  float total = 0.0f;
  for (int k = 4 * threadIdx.x; k < Kp; k += 4 * kTileThreads) {
    float4 value = load4(row + k);
    value.x = expf(value.x - high);
    value.y = expf(value.y - high);
    value.z = expf(value.z - high);
    value.w = expf(value.w - high);
    *reinterpret_cast<float4*>(row + k) = value;
    total += (value.x + value.y) + (value.z + value.w);
  }
  total = reduce_block<false>(total, scratch);
  if (threadIdx.x == 0) {
    view.factors[side][b] = 1.0f / (total * static_cast<float>(view.B));
    view.row_loss[side * view.B + b] =
        (side == 0 ? 1.0 : -1.0) * (static_cast<double>(high) + log(static_cast<double>(total)));
  }
}

// One block for each dimension, side, batch and pass of rows.
__global__ void sort_states(CpView view, Batch batches) {
  __shared__ int states[kPassRows];
  const int d = blockIdx.x, side = blockIdx.y, S = view.S;
  const int pass = blockIdx.z % view.passes, first = pass * kPassRows;
  const Batch batch = batch_at(view, batches, blockIdx.z / view.passes);
  const int rows = min(kPassRows, view.B - first), own = threadIdx.x;
  const std::size_t row = static_cast<std::size_t>(side) * view.D + d;
  const std::int32_t* x = side == 0 ? batch.x0 : batch.x1;
  if (own < rows) states[own] = x[static_cast<std::size_t>(first + own) * view.D + d];
  __syncthreads();
  for (int s = threadIdx.x; s <= S; s += kPassRows) {
    int below = 0;
    for (int b = 0; b < rows; ++b) below += states[b] < s;
    batch.begin[(row * view.passes + pass) * (S + 1) + s] = below;
  }
  if (own >= rows) return;
  int rank = 0;
  for (int other = 0; other < rows; ++other) {
    rank += states[other] < states[own] || (states[other] == states[own] && other < own);
  }
  batch.order[row * view.B + first + rank] = own;
}

// Who of a pass is in which state, on both sides.
struct SortedPass {
  int* order[2];      // [kPassRows], rows of the pass by state
  float* factors[2];  // [kPassRows], of these rows
  int* begin[2];      // [S+1]
};

constexpr int pass_size(int S) { return 2 * (2 * kPassRows + S + 1); }

__device__ SortedPass place_pass(float* memory, int S) {
  SortedPass pass;
  for (int side = 0; side < 2; ++side) {
    pass.factors[side] = memory + side * kPassRows;
    pass.order[side] = reinterpret_cast<int*>(memory) + (2 + side) * kPassRows;
    pass.begin[side] = reinterpret_cast<int*>(memory) + 4 * kPassRows + side * (S + 1);
  }
  return pass;
}

__device__ void load_pass(const CpView& view, const Batch& batch, int d, int number,
                          const SortedPass& out) {
  const int S = view.S, first = number * kPassRows, rows = min(kPassRows, view.B - first);
  __syncthreads();  // the pass before is done with
  for (int side = 0; side < 2; ++side) {
    const std::size_t row = static_cast<std::size_t>(side) * view.D + d;
    for (int i = threadIdx.x; i < rows; i += kTileThreads) {
      const int own = batch.order[row * view.B + first + i];
      out.order[side][i] = own;
      out.factors[side][i] = view.factors[side][first + own];
    }
    for (int i = threadIdx.x; i <= S; i += kTileThreads) {
      out.begin[side][i] = batch.begin[(row * view.passes + number) * (S + 1) + i];
    }
  }
  __syncthreads();
}

// Adds, for each side, what the rows of the pass in the thread's states weigh together. Loads of
// all states and both sides are on their way at once.
template <int Tile>
__device__ void weigh_states(const CpView& view, const SortedPass& pass, int first, int s0, int k,
                             float4 (&sum)[2][Tiling<Tile>::kOwnRows]) {
  using T = Tiling<Tile>;
  int next[2][T::kOwnRows], end[2][T::kOwnRows], longest = 0;
#pragma unroll
  for (int side = 0; side < 2; ++side) {
#pragma unroll
    for (int j = 0; j < T::kOwnRows; ++j) {
      const int s = s0 + j * T::kRowGroups;
      next[side][j] = s < view.S ? pass.begin[side][s] : 0;
      end[side][j] = s < view.S ? pass.begin[side][s + 1] : 0;
      longest = max(longest, end[side][j] - next[side][j]);
    }
  }
  const std::size_t Kp = view.Kp;
  for (int i = 0; i < longest; ++i) {
    float4 weight[2][T::kOwnRows];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const float* weights = view.weights[side] + first * Kp + k;
#pragma unroll
      for (int j = 0; j < T::kOwnRows; ++j) {
        weight[side][j] = next[side][j] + i < end[side][j]
                              ? load4(weights + pass.order[side][next[side][j] + i] * Kp)
                              : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      }
    }
#pragma unroll
    for (int side = 0; side < 2; ++side) {
#pragma unroll
      for (int j = 0; j < T::kOwnRows; ++j) {
        if (next[side][j] + i >= end[side][j]) continue;
        const float factor = pass.factors[side][next[side][j] + i];
        float4& own = sum[side][j];
        own.x = fmaf(weight[side][j].x, factor, own.x);
        own.y = fmaf(weight[side][j].y, factor, own.y);
        own.z = fmaf(weight[side][j].z, factor, own.z);
        own.w = fmaf(weight[side][j].w, factor, own.w);
      }
    }
  }
}

template <int Tile>
__device__ void weigh_all_passes(const CpView& view, const Batch& batch, int d, int k0, int block,
                                 const SortedPass& pass, float4 (&sum)[2][Tiling<Tile>::kOwnRows]) {
  using T = Tiling<Tile>;
#pragma unroll
  for (int j = 0; j < T::kOwnRows; ++j) {
    sum[0][j] = sum[1][j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  for (int i = 0; i < view.passes; ++i) {
    // A single pass stays where it is.
    if (block == 0 || view.passes > 1) load_pass(view, batch, d, i, pass);
    weigh_states<Tile>(view, pass, i * kPassRows, block * kBlockCategories + T::row(),
                       k0 + T::column(), sum);
  }
}

// Shares of log u where u left its range, one column a thread.
__device__ void pull_back_exactly(const CpView& view, const Batch& batch, int d, int k) {
  const std::size_t Kp = view.Kp, last = static_cast<std::size_t>(view.num_steps) * view.S;
  float* out = view.exact_gradient + core_at(view, d, 0, k);
  for (int t = 0; t < view.S; ++t) out[t * Kp] = 0.0f;
  for (int b = 0; b < view.B; ++b) {
    const int s = batch.x0[static_cast<std::size_t>(b) * view.D + d];
    const float log_u = view.log_u[core_at(view, d, s, k)];
    if (log_u - view.high[d * Kp + k] >= kLogProductFloor) continue;
    const float weight = view.weights[0][b * Kp + k] * view.factors[0][b];
    if (weight == 0.0f) continue;
    add_exact_shares(view.log_q + (last + s) * view.S, view.log_cores + core_at(view, d, 0, k),
                     view.Kp, view.S, log_u, weight, out);
  }
}

// d loss / d u = weight / u. Where u left its range the share goes the exact way.
__device__ float over_product(float weight, float log_product, int& any_exact) {
  if (log_product >= kLogProductFloor) return weight * expf(-log_product);
  if (weight != 0.0f) any_exact = 1;
  return 0.0f;
}

template <int Tile>
__global__ void __launch_bounds__(kTileThreads, 2) update_tile(CpView view, Batch batch) {
  using T = Tiling<Tile>;
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, d = blockIdx.y, k0 = blockIdx.x * Tile, c = T::column();
  float* power = shared;
  float* power_transposed = power + power_size(Sp);
  float* ratios = power_transposed + power_size(Sp);  // [Sp][kStride]: d loss / d u
  // [blocks of categories][kStride]: the gradient without its factor, then the new cores
  float* tile = ratios + Sp * T::kStride;
  const int blocks = (S + kBlockCategories - 1) / kBlockCategories;
  const SortedPass pass = place_pass(tile + blocks * kBlockCategories * T::kStride, S);
  __shared__ float scratch[4 * kTileThreads];
  __shared__ double sums[kTileThreads];
  __shared__ int any_exact;
  if (threadIdx.x == 0) any_exact = 0;
  load_power(view, whole_power(view, view.q), power);
  load_power(view, whole_power(view, view.q_transposed), power_transposed);
  const float4 high = load4(view.high + static_cast<std::size_t>(d) * view.Kp + k0 + c);

  float4 beta = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float4 weight[2][T::kOwnRows];  // of one block of categories: side 0 asks, side 1 is asked for
  for (int block = 0; block < blocks; ++block) {
    weigh_all_passes<Tile>(view, batch, d, k0, block, pass, weight);
#pragma unroll
    for (int j = 0; j < T::kOwnRows; ++j) {
      const int s = block * kBlockCategories + T::row() + j * T::kRowGroups;
      if (s >= Sp) continue;
      float ratio[4] = {};
      if (s < S) {
        const float4 log_u = load4(view.log_u + core_at(view, d, s, k0 + c)), own = weight[0][j];
        ratio[0] = over_product(own.x, log_u.x - high.x, any_exact);
        ratio[1] = over_product(own.y, log_u.y - high.y, any_exact);
        ratio[2] = over_product(own.z, log_u.z - high.z, any_exact);
        ratio[3] = over_product(own.w, log_u.w - high.w, any_exact);
      }
      store4(ratios + s * T::kStride + c, ratio);
      beta.x += weight[0][j].x - weight[1][j].x;
      beta.y += weight[0][j].y - weight[1][j].y;
      beta.z += weight[0][j].z - weight[1][j].z;
      beta.w += weight[0][j].w - weight[1][j].w;
    }
  }
  __syncthreads();
  if (any_exact != 0) {
    if (threadIdx.x < Tile) pull_back_exactly(view, batch, d, k0 + threadIdx.x);
    __syncthreads();
  }
  if (d == 0 && k0 == 0) add_up_loss(view, 2 * view.B, sums);

  // Backwards: the weights of the last block are at hand.
  for (int block = blocks - 1; block >= 0; --block) {
    const int t0 = block * kBlockCategories;
    if (block < blocks - 1) weigh_all_passes<Tile>(view, batch, d, k0, block, pass, weight);
    float sum[1][T::kWarpColumns][4] = {};
    multiply_power<Tile>(view, power, t0, ratios, sum);
    store_sums<Tile>(sum, tile + t0 * T::kStride);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < T::kOwnRows; ++j) {
      const int t = t0 + T::row() + j * T::kRowGroups;
      if (t >= S) continue;
      const std::size_t at = core_at(view, d, t, k0 + c);
      const float4 core = load4(view.log_cores + at), pulled = load4(tile + t * T::kStride + c);
      float gradient[4] = {fmaf(pulled.x, expf(core.x - high.x), -weight[1][j].x),
                           fmaf(pulled.y, expf(core.y - high.y), -weight[1][j].y),
                           fmaf(pulled.z, expf(core.z - high.z), -weight[1][j].z),
                           fmaf(pulled.w, expf(core.w - high.w), -weight[1][j].w)};
      if (any_exact != 0) {
#pragma unroll
        for (int i = 0; i < 4; ++i) gradient[i] += view.exact_gradient[at + i];
      }
      *reinterpret_cast<float4*>(tile + t * T::kStride + c) =
          finish_cores(view, at, core, gradient);
    }
  }
  __syncthreads();
  if (d == 0) {
    add_up_beta<Tile>(view, k0, beta, scratch);
    __syncthreads();
  }
  if (view.gradient_cores == nullptr) {
    propagate_tile<Tile>(view, d, k0, power_transposed, tile, scratch);
  }
}

template <int Tile>
std::size_t propagate_bytes(int S, int Sp) {
  const int rows = (S + kBlockCategories - 1) / kBlockCategories * kBlockCategories;
  return sizeof(float) * static_cast<std::size_t>(power_size(Sp) + rows * Tiling<Tile>::kStride);
}

template <int Tile>
std::size_t update_bytes(int S, int Sp) {
  return propagate_bytes<Tile>(S, Sp) +
         sizeof(float) *
             static_cast<std::size_t>(power_size(Sp) + Sp * Tiling<Tile>::kStride + pass_size(S));
}

// The widest tiles that still give every multiprocessor work and that fit it, as a type's value.
template <typename Launch>
void with_tile(const CpView& view, Launch&& launch) {
  constexpr int kBlocksWanted = 256;
  const int components = view.D * view.Kp;
  const std::size_t room = max_shared_memory();
  if (components / 64 >= kBlocksWanted && update_bytes<64>(view.S, view.Sp) <= room) {
    launch(std::integral_constant<int, 64>());
  } else if (components / 32 >= kBlocksWanted && update_bytes<32>(view.S, view.Sp) <= room) {
    launch(std::integral_constant<int, 32>());
  } else {
    launch(std::integral_constant<int, 16>());
  }
}

}  // namespace

void prepare_static(const CpView& view) {
  with_tile(view, [&](auto tile) {
    allow_shared_memory(reinterpret_cast<const void*>(propagate<tile>),
                        propagate_bytes<tile>(view.S, view.Sp), view.S);
    allow_shared_memory(reinterpret_cast<const void*>(update_tile<tile>),
                        update_bytes<tile>(view.S, view.Sp), view.S);
  });
}

void launch_sort(const CpView& view, const Batch& batches, int count, cudaStream_t stream) {
  sort_states<<<dim3(view.D, 2, view.passes * count), kPassRows, 0, stream>>>(view, batches);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_propagate(const CpView& view, cudaStream_t stream) {
  with_tile(view, [&](auto tile) {
    propagate<tile><<<dim3(view.Kp / tile, view.D), kTileThreads,
                      propagate_bytes<tile>(view.S, view.Sp), stream>>>(view);
  });
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_static(const CpView& view, const Batch& batch, cudaStream_t stream) {
  // Rounded up: the compiler reads the states four at a time.
  const std::size_t states = sizeof(int) * static_cast<std::size_t>((view.D + 3) / 4 * 4);
  gather<<<dim3(view.B, 2), kTileThreads, states, stream>>>(view, batch);
  with_tile(view, [&](auto tile) {
    update_tile<tile><<<dim3(view.Kp / tile, view.D), kTileThreads,
                        update_bytes<tile>(view.S, view.Sp), stream>>>(view, batch);
  });
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
