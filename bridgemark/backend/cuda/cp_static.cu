#include "bridgemark/backend/cuda/check.h"
#include "bridgemark/backend/cuda/cp_tiles.h"

// loss = mean log c(x0) - mean log v(x1) in three kernels: propagate the cores of a tile; gather
// and add over dimensions for a row; scatter, pull back through the reference and update a tile.
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
    for (int i = 0; i < 4 && s0 + i < S; ++i) {
      for (int j = 0; j < 4; ++j) {
        float& value = sum[i][j];
        if (value >= kProductFloor) {
          value = logf(value) + high[c + j];
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

// Four threads share a column of the tile: two for each side, each with half of the batch and
// sums of its own, so that additions have an order.
constexpr int kQuarters = kTileThreads / kTile;
static_assert(kQuarters == 4);

__global__ void __launch_bounds__(kTileThreads) pull_back(CpView view, Batch batch) {
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, B = view.B, d = blockIdx.y, k0 = blockIdx.x * kTile;
  const int size = S * kTile;
  float* sums = shared;             // [4][S][kTile]
  float* tile = sums + 4 * size;    // scaled cores
  float* table = tile + size;       // Q, [S][Sp]
  float* factors = table + S * Sp;  // [2][B]
  int* states = reinterpret_cast<int*>(factors + 2 * B);
  __shared__ float high[kTile], scratch[kTileThreads];
  __shared__ int any_exact;
  const std::size_t last = static_cast<std::size_t>(view.num_steps) * S;
  if (threadIdx.x == 0) any_exact = 0;
  for (int i = threadIdx.x; i < 4 * size; i += kTileThreads) sums[i] = 0.0f;
  for (int i = threadIdx.x; i < 2 * B; i += kTileThreads) {
    const int side = i / B, b = i % B;
    factors[i] = view.factors[side][b];
    states[i] = (side == 0 ? batch.x0 : batch.x1)[static_cast<std::size_t>(b) * view.D + d];
  }
  load_table(view.q + last * Sp, S * Sp, table);
  load_scaled(view, d, k0, tile, high, scratch);

  {
    const int column = threadIdx.x % kTile, quarter = threadIdx.x / kTile, side = quarter / 2;
    const int half = (B + 1) / 2, first = (quarter % 2) * half, end = min(B, first + half);
    const float* weights = view.weights[side] + k0 + column;
    float* own = sums + quarter * size + column;
#pragma unroll 8
    for (int b = first; b < end; ++b) {
      const float weight = weights[static_cast<std::size_t>(b) * view.Kp] * factors[side * B + b];
      own[states[side * B + b] * kTile] += weight;
    }
  }
  __syncthreads();
  // sums[0]: d loss / d log u, sums[1]: that over u, sums[2]: what x1 asks for.
  for (int i = threadIdx.x; i < size; i += kTileThreads) {
    const float pull = sums[i] + sums[size + i];
    const float log_product =
        view.log_u[core_at(view, d, i / kTile, k0 + i % kTile)] - high[i % kTile];
    sums[i] = pull;
    const bool exact = log_product < kLogProductFloor;
    if (exact && pull != 0.0f) any_exact = 1;
    sums[size + i] = exact ? 0.0f : pull * expf(-log_product);
    sums[2 * size + i] += sums[3 * size + i];
  }
  __syncthreads();
  const int c = tile_column();
  for (int t0 = 4 * row_group(); t0 < S; t0 += 4 * kRowGroups) {
    float sum[4][4] = {};
    add_product(table + t0, Sp, sums + size + c, S, sum);
    for (int i = 0; i < 4 && t0 + i < S; ++i) {
      for (int j = 0; j < 4; ++j) {
        const int at = (t0 + i) * kTile + c + j;
        sums[3 * size + at] = fmaf(sum[i][j], tile[at], -sums[2 * size + at]);
      }
    }
  }
  __syncthreads();
  float* gradient = sums + 3 * size;
  if (any_exact != 0) {
    if (threadIdx.x < kTile) {
      const float* cores = view.log_cores + core_at(view, d, 0, k0 + threadIdx.x);
      for (int s = 0; s < S; ++s) {
        const float log_u = view.log_u[core_at(view, d, s, k0 + threadIdx.x)];
        const float weight = sums[s * kTile + threadIdx.x];
        if (log_u - high[threadIdx.x] >= kLogProductFloor || weight == 0.0f) continue;
        add_exact_shares(view.log_q + (last + s) * S, cores, view.Kp, S, log_u, weight,
                         gradient + threadIdx.x);
      }
    }
    __syncthreads();
  }
  if (d == 0 && threadIdx.x < kTile) {
    float beta = 0.0f;
    for (int s = 0; s < S; ++s) {
      beta += sums[s * kTile + threadIdx.x] - sums[2 * size + s * kTile + threadIdx.x];
    }
    finish_beta(view, k0 + threadIdx.x, beta);
  }
  if (d == 0 && k0 == 0 && threadIdx.x == kTile) {
    double loss = 0.0;
    for (int i = 0; i < 2 * B; ++i) loss += view.row_loss[i];
    loss /= B;
    if (view.entropy > 0.0f) loss += static_cast<double>(view.entropy * view.entropy_of_beta[1]);
    view.losses[view.progress->local] = loss;
  }
  finish_tile(view, d, k0, gradient);
}

std::size_t propagate_bytes(int S, int Sp) {
  return sizeof(float) * (static_cast<std::size_t>(S) * kTile + static_cast<std::size_t>(S) * Sp);
}

std::size_t pull_back_bytes(int S, int Sp, int B) {
  return sizeof(float) * (5 * static_cast<std::size_t>(S) * kTile +
                          static_cast<std::size_t>(S) * Sp + 4 * static_cast<std::size_t>(B));
}

}  // namespace

void prepare_static(int num_categories, int batch_size) {
  const int padded = (num_categories + 3) / 4 * 4;
  allow_shared_memory(reinterpret_cast<const void*>(propagate),
                      propagate_bytes(num_categories, padded), num_categories, batch_size);
  allow_shared_memory(reinterpret_cast<const void*>(pull_back),
                      pull_back_bytes(num_categories, padded, batch_size), num_categories,
                      batch_size);
}

void launch_static(const CpView& view, const Batch& batch, cudaStream_t stream) {
  const dim3 tiles(view.Kp / kTile, view.D), rows(view.B, 2);
  propagate<<<tiles, kTileThreads, propagate_bytes(view.S, view.Sp), stream>>>(view);
  gather<<<rows, kTileThreads, view.D * sizeof(int), stream>>>(view, batch);
  pull_back<<<tiles, kTileThreads, pull_back_bytes(view.S, view.Sp, view.B), stream>>>(view, batch);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
