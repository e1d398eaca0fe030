#pragma once

#include <cmath>

#include "bridgemark/backend/cuda/cp_view.h"

// Steps of the CP kernels that work on one tile: all categories of kTile components of one
// dimension, in shared memory as [S][kTile], by a block of kTileThreads. Fused multiply-adds are
// written out: the build contracts nothing by itself.
namespace bridgemark::backend::cuda {

// A thread's part of a product: `Rows` rows from row(), four columns from column().
inline constexpr int kColumnGroups = kTile / 4;
inline constexpr int kRowGroups = kTileThreads / kColumnGroups;
__device__ inline int tile_column() { return 4 * (threadIdx.x % kColumnGroups); }
__device__ inline int row_group() { return threadIdx.x / kColumnGroups; }

__device__ inline float4 load4(const float* from) { return *reinterpret_cast<const float4*>(from); }
__device__ inline void store4(float* to, const float (&values)[4]) {
  *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
}

// sum[i][c] += sum_j a[j*stride + i] x[j*kTile + c], a and x at the thread's row and column.
template <int Rows>
__device__ inline void add_product(const float* a, int stride, const float* x, int inner,
                                   float (&sum)[Rows][4]) {
#pragma unroll 4
  for (int j = 0; j < inner; ++j) {
    const float4 right = load4(x + j * kTile);
#pragma unroll
    for (int group = 0; group < Rows / 4; ++group) {
      const float4 left = load4(a + j * stride + 4 * group);
      const float values[4] = {left.x, left.y, left.z, left.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float* out = sum[4 * group + i];
        out[0] = fmaf(values[i], right.x, out[0]);
        out[1] = fmaf(values[i], right.y, out[1]);
        out[2] = fmaf(values[i], right.z, out[2]);
        out[3] = fmaf(values[i], right.w, out[3]);
      }
    }
  }
}

__device__ inline std::size_t core_at(const CpView& view, int d, int s, int k) {
  return (static_cast<std::size_t>(d) * view.S + s) * view.Kp + k;
}

// tile = cores, then the largest of each column in high[kTile] and tile = exp(cores - high).
// scratch holds kTileThreads values.
__device__ inline void load_scaled(const CpView& view, int d, int k0, float* tile, float* high,
                                   float* scratch) {
  const int S = view.S;
  for (int i = threadIdx.x; i < S * kTile / 4; i += kTileThreads) {
    const int s = i / (kTile / 4), c = 4 * (i % (kTile / 4));
    *reinterpret_cast<float4*>(tile + s * kTile + c) =
        load4(view.log_cores + core_at(view, d, s, k0 + c));
  }
  __syncthreads();
  const int c = threadIdx.x % kTile, group = threadIdx.x / kTile;
  float largest = -INFINITY;
  for (int s = group; s < S; s += kTileThreads / kTile) {
    largest = fmaxf(largest, tile[s * kTile + c]);
  }
  scratch[threadIdx.x] = largest;
  __syncthreads();
  if (threadIdx.x < kTile) {
    for (int g = 1; g < kTileThreads / kTile; ++g) {
      largest = fmaxf(largest, scratch[g * kTile + threadIdx.x]);
    }
    high[threadIdx.x] = largest;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < S * kTile; i += kTileThreads) {
    tile[i] = expf(tile[i] - high[i % kTile]);
  }
  __syncthreads();
}

// Copies rows of a padded table [rows][Sp] to shared memory.
__device__ inline void load_table(const float* from, int count, float* to) {
  for (int i = threadIdx.x; i < count / 4; i += kTileThreads) {
    reinterpret_cast<float4*>(to)[i] = reinterpret_cast<const float4*>(from)[i];
  }
}

// log sum_t exp(log_q[t] + cores[t]) of one column, in double.
__device__ inline double exact_log_dot(const double* log_q, const float* cores, int stride, int S) {
  double high = -INFINITY;
  for (int t = 0; t < S; ++t) {
    high = fmax(high, log_q[t] + static_cast<double>(cores[static_cast<std::size_t>(t) * stride]));
  }
  if (high == -INFINITY) return high;
  double sum = 0.0;
  for (int t = 0; t < S; ++t) {
    sum += exp(log_q[t] + static_cast<double>(cores[static_cast<std::size_t>(t) * stride]) - high);
  }
  return high + log(sum);
}

// out[t] += weight * share of t in a sum whose logarithm is log_value, for one column.
__device__ inline void add_exact_shares(const double* log_q, const float* cores, int stride, int S,
                                        double log_value, double weight, float* out) {
  for (int t = 0; t < S; ++t) {
    const std::size_t at = static_cast<std::size_t>(t) * stride;
    out[at] +=
        static_cast<float>(weight * exp(log_q[t] + static_cast<double>(cores[at]) - log_value));
  }
}

__device__ inline float4 add4(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ inline float approximate_root(float x) {
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}

__device__ inline void adamw(const CpView& view, const UpdateSettings& settings, float gradient,
                             float& parameter, float& first, float& second) {
  first = fmaf(1.0f - view.beta1, gradient - first, first);
  second = fmaf(1.0f - view.beta2, gradient * gradient - second, second);
  // The hardware's root and quotient, good to 2 units in the last place.
  const float root = approximate_root(second * settings.correction2) + view.epsilon;
  parameter = parameter * settings.decay - __fdividef(first * settings.rate, root);
}

// The gradient of four cores in a row goes into the update, or out. `core` are the cores.
__device__ inline void finish_cores(const CpView& view, std::size_t at, float4 core,
                                    const float (&gradient)[4]) {
  if (view.gradient_cores != nullptr) {
    store4(view.gradient_cores + at, gradient);
    return;
  }
  const UpdateSettings settings = view.settings[view.progress->local];
  float4 m = load4(view.first_cores + at), v = load4(view.second_cores + at);
  adamw(view, settings, gradient[0], core.x, m.x, v.x);
  adamw(view, settings, gradient[1], core.y, m.y, v.y);
  adamw(view, settings, gradient[2], core.z, m.z, v.z);
  adamw(view, settings, gradient[3], core.w, m.w, v.w);
  *reinterpret_cast<float4*>(view.log_cores + at) = core;
  *reinterpret_cast<float4*>(view.first_cores + at) = m;
  *reinterpret_cast<float4*>(view.second_cores + at) = v;
}

// The same for one component's weight, with the entropy's part.
__device__ inline void finish_beta(const CpView& view, int k, float gradient) {
  if (view.entropy > 0.0f && k < view.K) {
    const float log_p = view.log_beta[k] - view.entropy_of_beta[0];
    gradient += view.entropy * expf(log_p) * (log_p - view.entropy_of_beta[1]);
  }
  if (view.gradient_beta != nullptr) {
    view.gradient_beta[k] = gradient;
    return;
  }
  if (k >= view.K) return;
  adamw(view, view.settings[view.progress->local], gradient, view.log_beta[k], view.first_beta[k],
        view.second_beta[k]);
}

// Sums of kTileThreads / kTile threads for each column of a tile, in the first kTile threads.
__device__ inline float add_quarters(float value, float* scratch) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  value = 0.0f;
  if (threadIdx.x < kTile) {
    for (int i = threadIdx.x; i < kTileThreads; i += kTile) value += scratch[i];
  }
  return value;
}

// The sum over `count` values by a block, in an order of its own, for thread 0.
__device__ inline double add_all(const double* values, int count, double* scratch) {
  double sum = 0.0;
  for (int i = threadIdx.x; i < count; i += kTileThreads) sum += values[i];
  scratch[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kTileThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  return scratch[0];
}

// The largest or the sum over a block of kTileThreads, in each thread.
template <bool kMax>
__device__ inline float reduce_block(float value, float* scratch) {
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, offset);
    value = kMax ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
  for (int w = 1; w < kTileThreads / 32; ++w) {
    value = kMax ? fmaxf(value, scratch[w]) : value + scratch[w];
  }
  return value;
}

}  // namespace bridgemark::backend::cuda
