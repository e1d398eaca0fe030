#include "bridgemark/backend/cuda/check.h"
#include "bridgemark/backend/cuda/cp_tiles.h"

// loss = mean log c(x0) - mean log v(x1) in three kernels: propagate the cores of a tile; gather
// and add over dimensions for a row; collect what the rows in each state weigh, pull it back
// through the reference and update a tile.
namespace bridgemark::backend::cuda {

namespace {

__global__ void __launch_bounds__(kTileThreads) propagate(CpView view) {
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, d = blockIdx.y, k0 = blockIdx.x * kTile;
  float* tile = shared;
  float* table = tile + S * kTile;
  __shared__ float high[kTile], scratch[kTileThreads];
  const std::size_t last = static_cast<std::size_t>(view.num_steps) * S;
  load_table(view.q_transposed + last * Sp, S * Sp, table);
  load_scaled(view, d, k0, tile, high, scratch);
  if (threadIdx.x < kTile) {
    view.high[static_cast<std::size_t>(d) * view.Kp + k0 + threadIdx.x] = high[threadIdx.x];
  }
  const int c = tile_column();
  for (int s0 = 4 * row_group(); s0 < S; s0 += 4 * kRowGroups) {
    float sum[4][4] = {};
    add_product(table + s0, Sp, tile + c, S, sum);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (s0 + i >= S) continue;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& value = sum[i][j];
        if (value >= kProductFloor) {
          value = __logf(value) + high[c + j];  // an absolute error of 1e-7 is enough
        } else {
          value = static_cast<float>(exact_log_dot(view.log_q + (last + s0 + i) * S,
                                                   view.log_cores + core_at(view, d, 0, k0 + c + j),
                                                   view.Kp, S));
        }
      }
      store4(view.log_u + core_at(view, d, s0 + i, k0 + c), sum[i]);
    }
  }
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

// One block for each dimension, side and chunk of rows.
__global__ void sort_states(CpView view, Batch batch) {
  __shared__ int states[kChunkRows];
  const int d = blockIdx.x, side = blockIdx.y, chunk = blockIdx.z, S = view.S;
  const int first = chunk * kChunkRows, rows = min(kChunkRows, view.B - first);
  const std::size_t row = static_cast<std::size_t>(side) * view.D + d;
  const std::int32_t* x = side == 0 ? batch.x0 : batch.x1;
  const int own = threadIdx.x;
  if (own < rows) states[own] = x[static_cast<std::size_t>(first + own) * view.D + d];
  __syncthreads();
  for (int s = threadIdx.x; s <= S; s += kChunkRows) {
    int below = 0;
    for (int b = 0; b < rows; ++b) below += states[b] < s;
    batch.begin[(row * gridDim.z + chunk) * (S + 1) + s] = below;
  }
  if (own >= rows) return;
  int rank = 0;
  for (int other = 0; other < rows; ++other) {
    rank += states[other] < states[own] || (states[other] == states[own] && other < own);
  }
  batch.order[row * view.B + first + rank] = own;
}

// The weights of one side's chunk of rows for the tile's components, and who is in which state.
struct Chunk {
  float* weights;  // [kChunkRows][kTile], divided by their sums
  int* order;      // [kChunkRows]
  int* begin;      // [S+1]
};

__device__ void load_chunk(const CpView& view, const Batch& batch, int side, int d, int k0,
                           int chunk, const Chunk& out) {
  const int S = view.S, first = chunk * kChunkRows, rows = min(kChunkRows, view.B - first);
  const int chunks = (view.B + kChunkRows - 1) / kChunkRows;
  const std::size_t row = static_cast<std::size_t>(side) * view.D + d;
  __syncthreads();  // the chunk before is done with
#pragma unroll
  for (int i = 0; i < kChunkRows / kRowGroups; ++i) {
    const int r = row_group() + i * kRowGroups;
    if (r >= rows) continue;
    const float factor = view.factors[side][first + r];
    const float4 weight = load4(view.weights[side] + static_cast<std::size_t>(first + r) * view.Kp +
                                k0 + tile_column());
    const float scaled[4] = {weight.x * factor, weight.y * factor, weight.z * factor,
                             weight.w * factor};
    store4(out.weights + r * kTile + tile_column(), scaled);
  }
  for (int i = threadIdx.x; i < rows; i += kTileThreads) {
    out.order[i] = batch.order[row * view.B + first + i];
  }
  for (int i = threadIdx.x; i <= S; i += kTileThreads) {
    out.begin[i] = batch.begin[(row * chunks + chunk) * (S + 1) + i];
  }
  __syncthreads();
}

// Adds what the chunk's rows in state s weigh together.
__device__ void weigh_state(const Chunk& chunk, int s, float4& sum) {
  for (int i = chunk.begin[s]; i < chunk.begin[s + 1]; ++i) {
    sum = add4(sum, load4(chunk.weights + chunk.order[i] * kTile + tile_column()));
  }
}

// The sum over the chunk of each component's weights, by quarters of the block.
__device__ float weigh_column(const Chunk& chunk, int rows) {
  float sum = 0.0f;
  for (int r = threadIdx.x / kTile; r < rows; r += kTileThreads / kTile) {
    sum += chunk.weights[r * kTile + threadIdx.x % kTile];
  }
  return sum;
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

// Categories a thread owns: up to kOwnRows in steps of kRowGroups.
constexpr int kOwnRows = 4;

__global__ void __launch_bounds__(kTileThreads) pull_back(CpView view, Batch batch) {
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, B = view.B, d = blockIdx.y, k0 = blockIdx.x * kTile;
  const int chunks = (B + kChunkRows - 1) / kChunkRows, c = tile_column();
  const std::size_t last = static_cast<std::size_t>(view.num_steps) * S;
  float* ratios = shared;             // [S][kTile]: d loss / d u
  float* table = ratios + S * kTile;  // Q, [S][Sp]
  Chunk chunk{table + S * Sp, nullptr, nullptr};
  chunk.order = reinterpret_cast<int*>(chunk.weights + kChunkRows * kTile);
  chunk.begin = chunk.order + kChunkRows;
  __shared__ float scratch[kTileThreads];
  __shared__ double sums[kTileThreads];
  __shared__ int any_exact;
  if (threadIdx.x == 0) any_exact = 0;
  load_table(view.q + last * Sp, S * Sp, table);
  const float4 high = load4(view.high + static_cast<std::size_t>(d) * view.Kp + k0 + c);

  float beta = 0.0f;
  for (int block = 0; block < S; block += kOwnRows * kRowGroups) {
    const int s0 = block + row_group();
    float4 pull[kOwnRows] = {};
    for (int i = 0; i < chunks; ++i) {
      load_chunk(view, batch, 0, d, k0, i, chunk);
      if (d == 0 && block == 0) beta += weigh_column(chunk, min(kChunkRows, B - i * kChunkRows));
#pragma unroll
      for (int j = 0; j < kOwnRows; ++j) {
        if (s0 + j * kRowGroups < S) weigh_state(chunk, s0 + j * kRowGroups, pull[j]);
      }
    }
#pragma unroll
    for (int j = 0; j < kOwnRows; ++j) {
      const int s = s0 + j * kRowGroups;
      if (s >= S) continue;
      const float4 log_u = load4(view.log_u + core_at(view, d, s, k0 + c));
      // Where u left its range the share goes the exact way.
      const auto over = [&](float weight, float log_product) {
        if (log_product >= kLogProductFloor) return weight * expf(-log_product);
        if (weight != 0.0f) any_exact = 1;
        return 0.0f;
      };
      const float ratio[4] = {over(pull[j].x, log_u.x - high.x), over(pull[j].y, log_u.y - high.y),
                              over(pull[j].z, log_u.z - high.z), over(pull[j].w, log_u.w - high.w)};
      store4(ratios + s * kTile + c, ratio);
    }
  }
  __syncthreads();
  if (any_exact != 0) {
    if (threadIdx.x < kTile) pull_back_exactly(view, batch, d, k0 + threadIdx.x);
    __syncthreads();
  }
  if (d == 0 && k0 == 0) {
    const double loss = add_all(view.row_loss, 2 * B, sums) / B;
    if (threadIdx.x == 0) {
      view.losses[view.progress->local] =
          view.entropy > 0.0f ? loss + static_cast<double>(view.entropy * view.entropy_of_beta[1])
                              : loss;
    }
  }
  for (int block = 0; block < S; block += 4 * kRowGroups) {
    const int t0 = block + 4 * row_group();
    float4 asked[4] = {};
    for (int i = 0; i < chunks; ++i) {
      load_chunk(view, batch, 1, d, k0, i, chunk);
      if (d == 0 && block == 0) beta -= weigh_column(chunk, min(kChunkRows, B - i * kChunkRows));
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (t0 + j < S) weigh_state(chunk, t0 + j, asked[j]);
      }
    }
    float sum[4][4] = {};
    if (t0 < S) add_product(table + t0, Sp, ratios + c, S, sum);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (t0 + i >= S) continue;
      const std::size_t at = core_at(view, d, t0 + i, k0 + c);
      const float4 core = load4(view.log_cores + at);
      float gradient[4] = {fmaf(sum[i][0], expf(core.x - high.x), -asked[i].x),
                           fmaf(sum[i][1], expf(core.y - high.y), -asked[i].y),
                           fmaf(sum[i][2], expf(core.z - high.z), -asked[i].z),
                           fmaf(sum[i][3], expf(core.w - high.w), -asked[i].w)};
      if (any_exact != 0) {
#pragma unroll
        for (int j = 0; j < 4; ++j) gradient[j] += view.exact_gradient[at + j];
      }
      finish_cores(view, at, core, gradient);
    }
  }
  if (d == 0) {
    beta = add_quarters(beta, scratch);
    if (threadIdx.x < kTile) finish_beta(view, k0 + threadIdx.x, beta);
  }
}

std::size_t propagate_bytes(int S, int Sp) {
  return sizeof(float) * (static_cast<std::size_t>(S) * kTile + static_cast<std::size_t>(S) * Sp);
}

std::size_t pull_back_bytes(int S, int Sp) {
  return sizeof(float) *
         static_cast<std::size_t>(S * kTile + S * Sp + kChunkRows * (kTile + 1) + S + 1);
}

}  // namespace

void prepare_static(int num_categories) {
  const int S = num_categories, Sp = (S + 3) / 4 * 4;
  allow_shared_memory(reinterpret_cast<const void*>(propagate), propagate_bytes(S, Sp), S);
  allow_shared_memory(reinterpret_cast<const void*>(pull_back), pull_back_bytes(S, Sp), S);
}

void launch_sort(const CpView& view, const Batch& batch, cudaStream_t stream) {
  const int chunks = (view.B + kChunkRows - 1) / kChunkRows;
  sort_states<<<dim3(view.D, 2, chunks), kChunkRows, 0, stream>>>(view, batch);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_static(const CpView& view, const Batch& batch, cudaStream_t stream) {
  const dim3 tiles(view.Kp / kTile, view.D), rows(view.B, 2);
  propagate<<<tiles, kTileThreads, propagate_bytes(view.S, view.Sp), stream>>>(view);
  // Rounded up: the compiler reads the states four at a time.
  const std::size_t states = sizeof(int) * static_cast<std::size_t>((view.D + 3) / 4 * 4);
  gather<<<rows, kTileThreads, states, stream>>>(view, batch);
  pull_back<<<tiles, kTileThreads, pull_back_bytes(view.S, view.Sp), stream>>>(view, batch);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
