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

// One block for each dimension and side.
__global__ void sort_states(CpView view, Batch batch) {
  extern __shared__ int states[];
  const int d = blockIdx.x, side = blockIdx.y, B = view.B, S = view.S;
  const std::size_t row = static_cast<std::size_t>(side) * view.D + d;
  const std::int32_t* x = side == 0 ? batch.x0 : batch.x1;
  for (int b = threadIdx.x; b < B; b += blockDim.x) {
    states[b] = x[static_cast<std::size_t>(b) * view.D + d];
  }
  __syncthreads();
  for (int s = threadIdx.x; s <= S; s += blockDim.x) {
    int below = 0;
    for (int b = 0; b < B; ++b) below += states[b] < s;
    batch.begin[row * (S + 1) + s] = below;
  }
  for (int b = threadIdx.x; b < B; b += blockDim.x) {
    int rank = 0;
    for (int other = 0; other < B; ++other) {
      rank += states[other] < states[b] || (states[other] == states[b] && other < b);
    }
    batch.order[row * B + rank] = b;
  }
}

// What the rows in state s weigh together, for four components.
__device__ float4 weigh_state(const int* order, const float* factors, int first, int last,
                              const float* weights, std::size_t stride) {
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int i = first; i < last; ++i) {
    const float4 weight = load4(weights + order[i] * stride);
    const float factor = factors[i];
    sum.x = fmaf(weight.x, factor, sum.x);
    sum.y = fmaf(weight.y, factor, sum.y);
    sum.z = fmaf(weight.z, factor, sum.z);
    sum.w = fmaf(weight.w, factor, sum.w);
  }
  return sum;
}

__global__ void __launch_bounds__(kTileThreads) pull_back(CpView view, Batch batch) {
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, B = view.B, d = blockIdx.y, k0 = blockIdx.x * kTile;
  const std::size_t Kp = view.Kp;
  float* ratios = shared;                                // [S][kTile]: d loss / d u
  float* table = ratios + S * kTile;                     // Q, [S][Sp]
  float* factors = table + S * Sp;                       // [2][B], in the order of the rows
  int* order = reinterpret_cast<int*>(factors + 2 * B);  // [2][B]
  int* begin = order + 2 * B;                            // [2][S+1]
  __shared__ int any_exact;
  const std::size_t last = static_cast<std::size_t>(view.num_steps) * S;
  const int c = tile_column();
  if (threadIdx.x == 0) any_exact = 0;
  for (int i = threadIdx.x; i < 2 * B; i += kTileThreads) {
    const int side = i / B;
    order[i] = batch.order[(static_cast<std::size_t>(side) * view.D + d) * B + i % B];
    factors[i] = view.factors[side][order[i]];
  }
  for (int i = threadIdx.x; i < 2 * (S + 1); i += kTileThreads) {
    const int side = i / (S + 1);
    begin[i] = batch.begin[(static_cast<std::size_t>(side) * view.D + d) * (S + 1) + i % (S + 1)];
  }
  load_table(view.q + last * Sp, S * Sp, table);
  const float4 high = load4(view.high + d * Kp + k0 + c);
  __syncthreads();

  // Where u left its range the share goes the exact way below.
  for (int s = row_group(); s < S; s += kRowGroups) {
    const float4 pull =
        weigh_state(order, factors, begin[s], begin[s + 1], view.weights[0] + k0 + c, Kp);
    const float4 log_u = load4(view.log_u + core_at(view, d, s, k0 + c));
    const auto over = [&](float weight, float log_product) {
      if (log_product >= kLogProductFloor) return weight * expf(-log_product);
      if (weight != 0.0f) any_exact = 1;
      return 0.0f;
    };
    const float ratio[4] = {over(pull.x, log_u.x - high.x), over(pull.y, log_u.y - high.y),
                            over(pull.z, log_u.z - high.z), over(pull.w, log_u.w - high.w)};
    store4(ratios + s * kTile + c, ratio);
  }
  __syncthreads();
  if (any_exact != 0) {
    if (threadIdx.x < kTile) {
      const int k = k0 + threadIdx.x;
      float* out = view.exact_gradient + core_at(view, d, 0, k);
      for (int t = 0; t < S; ++t) out[t * Kp] = 0.0f;
      for (int s = 0; s < S; ++s) {
        const float log_u = view.log_u[core_at(view, d, s, k)];
        if (log_u - view.high[d * Kp + k] >= kLogProductFloor) continue;
        float weight = 0.0f;
        for (int i = begin[s]; i < begin[s + 1]; ++i) {
          weight = fmaf(view.weights[0][order[i] * Kp + k], factors[i], weight);
        }
        if (weight == 0.0f) continue;
        add_exact_shares(view.log_q + (last + s) * S, view.log_cores + core_at(view, d, 0, k),
                         view.Kp, S, log_u, weight, out);
      }
    }
    __syncthreads();
  }
  if (d == 0 && threadIdx.x < kTile) {
    float beta = 0.0f;
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < B; ++i) {
        const float weight = view.weights[side][order[side * B + i] * Kp + k0 + threadIdx.x];
        beta = fmaf(side == 0 ? weight : -weight, factors[side * B + i], beta);
      }
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
  for (int t0 = 4 * row_group(); t0 < S; t0 += 4 * kRowGroups) {
    float sum[4][4] = {};
    add_product(table + t0, Sp, ratios + c, S, sum);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int t = t0 + i;
      if (t >= S) continue;
      const std::size_t at = core_at(view, d, t, k0 + c);
      const float4 core = load4(view.log_cores + at);
      const float4 asked = weigh_state(order + B, factors + B, begin[S + 1 + t], begin[S + 2 + t],
                                       view.weights[1] + k0 + c, Kp);
      float gradient[4] = {fmaf(sum[i][0], expf(core.x - high.x), -asked.x),
                           fmaf(sum[i][1], expf(core.y - high.y), -asked.y),
                           fmaf(sum[i][2], expf(core.z - high.z), -asked.z),
                           fmaf(sum[i][3], expf(core.w - high.w), -asked.w)};
      if (any_exact != 0) {
        for (int j = 0; j < 4; ++j) gradient[j] += view.exact_gradient[at + j];
      }
      finish_cores(view, at, core, gradient);
    }
  }
}

std::size_t propagate_bytes(int S, int Sp) {
  return sizeof(float) * (static_cast<std::size_t>(S) * kTile + static_cast<std::size_t>(S) * Sp);
}

std::size_t pull_back_bytes(int S, int Sp, int B) {
  return sizeof(float) * static_cast<std::size_t>(S * kTile + S * Sp + 4 * B + 2 * (S + 1));
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

void launch_sort(const CpView& view, const Batch& batch, cudaStream_t stream) {
  sort_states<<<dim3(view.D, 2), 128, view.B * sizeof(int), stream>>>(view, batch);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_static(const CpView& view, const Batch& batch, cudaStream_t stream) {
  const dim3 tiles(view.Kp / kTile, view.D), rows(view.B, 2);
  propagate<<<tiles, kTileThreads, propagate_bytes(view.S, view.Sp), stream>>>(view);
  gather<<<rows, kTileThreads, view.D * sizeof(int), stream>>>(view, batch);
  pull_back<<<tiles, kTileThreads, pull_back_bytes(view.S, view.Sp, view.B), stream>>>(view, batch);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
