#pragma once

#include <cuda_pipeline.h>

#include <cmath>

#include "bridgemark/backend/cuda/cp/cp_view.h"
#include "bridgemark/backend/cuda/device/adamw.h"
#include "bridgemark/backend/cuda/device/fast_math.h"
#include "bridgemark/backend/cuda/device/lanes.h"
#include "bridgemark/backend/cuda/device/tensor_product.h"
#include "bridgemark/math/exact_log_dot.h"

// Steps of the CP kernels that work on one tile: all categories of `Tile` components of one
// dimension, in shared memory as [categories][kStride], by a block of kTileThreads. Fused
// multiply-adds are written out: the build contracts nothing by itself.
namespace bridgemark::backend::cuda {

// How a block's threads share a tile. For loads, stores and updates a thread has four components
// in a row and kOwnRows of kBlockCategories categories, kRowGroups apart. For products, four warps
// share the categories and two the components.
template <int Tile>
struct Tiling {
  static constexpr int kStride = Tile + 8;  // no two lanes of a product in one bank
  static constexpr int kColumnGroups = Tile / 4;
  static constexpr int kRowGroups = kTileThreads / kColumnGroups;
  static constexpr int kOwnRows = kBlockCategories / kRowGroups;
  static constexpr int kWarpColumns = Tile / 16;  // blocks of 8 components of a warp

  __device__ static int column() { return 4 * static_cast<int>(threadIdx.x % kColumnGroups); }
  __device__ static int row() { return static_cast<int>(threadIdx.x / kColumnGroups); }
  __device__ static int warp_row() { return 16 * static_cast<int>(threadIdx.x / 32 % 4); }
  __device__ static int warp_column() { return Tile / 2 * static_cast<int>(threadIdx.x / 128); }
};

__device__ inline float4 load4(const float* from) { return *reinterpret_cast<const float4*>(from); }
__device__ inline void store4(float* to, const float (&values)[4]) {
  *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
}

__device__ inline std::size_t core_at(const CpView& view, int d, int s, int k) {
  return (static_cast<std::size_t>(d) * view.S + s) * view.Kp + k;
}

// Four values to shared memory without a register between, or zeros. They are there after
// finish_copies() and a barrier.
__device__ inline void copy4(float* to, const float* from, bool there) {
  __pipeline_memcpy_async(to, from, sizeof(float4), there ? 0 : sizeof(float4));
}
__device__ inline void finish_copies() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

__device__ inline float4 add4(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ inline float4 subtract4(float4 a, float4 b) {
  return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}

__device__ inline float4 fast_exp(float4 x) {
  return make_float4(fast_exp(x.x), fast_exp(x.y), fast_exp(x.z), fast_exp(x.w));
}

// Copies tile = log-cores.
template <int Tile>
__device__ inline void load_cores(const CpView& view, int d, int k0, float* tile) {
  using T = Tiling<Tile>;
#pragma unroll 4
  for (int s = T::row(); s < view.S; s += T::kRowGroups) {
    copy4(tile + s * T::kStride + T::column(),
          view.log_cores + core_at(view, d, s, k0 + T::column()), true);
  }
}

// From log-cores in the tile, seen by all: the largest of each column in high[Tile], also in
// view.high, and tile = exp(cores - high), with 0 for the categories up to Sp. scratch holds
// kTileThreads values.
template <int Tile>
__device__ inline void scale_columns(const CpView& view, int d, int k0, float* tile, float* high,
                                     float* scratch) {
  constexpr int kStride = Tiling<Tile>::kStride, kGroups = kTileThreads / Tile;
  const int c = threadIdx.x % Tile, group = threadIdx.x / Tile;
  float largest = -INFINITY;
  for (int s = group; s < view.S; s += kGroups) largest = fmaxf(largest, tile[s * kStride + c]);
  scratch[threadIdx.x] = largest;
  __syncthreads();
  if (threadIdx.x < Tile) {
    for (int g = 1; g < kGroups; ++g) largest = fmaxf(largest, scratch[g * Tile + threadIdx.x]);
    high[threadIdx.x] = largest;
    view.high[static_cast<std::size_t>(d) * view.Kp + k0 + threadIdx.x] = largest;
  }
  __syncthreads();
  for (int s = group; s < view.Sp; s += kGroups) {
    float& value = tile[s * kStride + c];
    value = s < view.S ? fast_exp(value - high[c]) : 0.0f;
  }
  __syncthreads();
}

// Copies a power of the chain, [Sp][Sp] with zeros behind S; a product may read kBlockCategories
// behind its end.
__device__ inline void load_power(const CpView& view, const float* from, float* to) {
  using T = Tiling<kTile>;
  for (int t = T::column(); t < view.Sp; t += kTile) {
#pragma unroll 4
    for (int s = T::row(); s < view.Sp; s += T::kRowGroups) {
      copy4(to + s * view.Sp + t, from + (s < view.S ? s : 0) * view.Sp + t, s < view.S);
    }
  }
}
constexpr int power_size(int Sp) { return Sp * Sp + kBlockCategories; }

// sum = the categories from t0 of power^T tile, at the warp's place: power[s][t] with s summed.
template <int Tile>
__device__ inline void multiply_power(const CpView& view, const float* power, int t0,
                                      const float* tile,
                                      float (&sum)[1][Tiling<Tile>::kWarpColumns][4]) {
  using T = Tiling<Tile>;
  add_tensor_product<1, T::kWarpColumns>(SharedMatrix<1, 0>{power + t0 + T::warp_row(), view.Sp},
                                         SharedMatrix<T::kStride, 1>{tile + T::warp_column()},
                                         view.Sp, sum);
}

// out = the sums of all warps, [kBlockCategories][kStride].
template <int Tile>
__device__ inline void store_sums(const float (&sum)[1][Tiling<Tile>::kWarpColumns][4],
                                  float* out) {
  using T = Tiling<Tile>;
  float* own = out + (T::warp_row() + sum_row()) * T::kStride + T::warp_column() + sum_column();
#pragma unroll
  for (int j = 0; j < T::kWarpColumns; ++j) {
    const float(&block)[4] = sum[0][j];
    *reinterpret_cast<float2*>(own + 8 * j) = make_float2(block[0], block[1]);
    *reinterpret_cast<float2*>(own + 8 * T::kStride + 8 * j) = make_float2(block[2], block[3]);
  }
}

// The number of this update within run().
__device__ inline unsigned update_number(const CpView& view) {
  return view.progress->local + static_cast<unsigned>(view.ahead);
}

// The gradient of four cores in a row goes into the update, or out. `core` are the cores; returns
// them as they are afterwards.
__device__ inline float4 finish_cores(const CpView& view, std::size_t at, float4 core,
                                      const float (&gradient)[4]) {
  if (view.gradient_cores != nullptr) {
    store4(view.gradient_cores + at, gradient);
    return core;
  }
  const UpdateSettings settings = view.settings[update_number(view)];
  const AdamWStep& step = settings.adamw;
  float4 m = load4(view.first_cores + at), v = load4(view.second_cores + at);
  update_parameter(step, gradient[0], core.x, m.x, v.x);
  update_parameter(step, gradient[1], core.y, m.y, v.y);
  update_parameter(step, gradient[2], core.z, m.z, v.z);
  update_parameter(step, gradient[3], core.w, m.w, v.w);
  *reinterpret_cast<float4*>(view.log_cores + at) = core;
  *reinterpret_cast<float4*>(view.first_cores + at) = m;
  *reinterpret_cast<float4*>(view.second_cores + at) = v;
  if (settings.share > 0.0f) {
    float4 average = load4(view.average_cores + at);
    update_average(settings.share, core.x, average.x);
    update_average(settings.share, core.y, average.y);
    update_average(settings.share, core.z, average.z);
    update_average(settings.share, core.w, average.w);
    *reinterpret_cast<float4*>(view.average_cores + at) = average;
  }
  return core;
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
  const UpdateSettings settings = view.settings[update_number(view)];
  update_parameter(settings.adamw, gradient, view.log_beta[k], view.first_beta[k],
                   view.second_beta[k]);
  if (settings.share > 0.0f) {
    update_average(settings.share, view.log_beta[k], view.average_beta[k]);
  }
}

// Sums over the row groups of what each thread has for its four columns, to finish_beta. scratch
// holds 4 kTileThreads values.
template <int Tile>
__device__ inline void add_up_beta(const CpView& view, int k0, float4 value, float* scratch) {
  using T = Tiling<Tile>;
  *reinterpret_cast<float4*>(scratch + T::row() * Tile + T::column()) = value;
  __syncthreads();
  if (threadIdx.x >= Tile) return;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < T::kRowGroups * Tile; i += Tile) sum += scratch[i];
  finish_beta(view, k0 + threadIdx.x, sum);
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

// The update's loss from row_loss, by one block.
__device__ inline void add_up_loss(const CpView& view, int rows, double* scratch) {
  const double loss = add_all(view.row_loss, rows, scratch) / view.B;
  if (threadIdx.x != 0) return;
  view.losses[update_number(view)] =
      view.entropy > 0.0f ? loss + static_cast<double>(view.entropy * view.entropy_of_beta[1])
                          : loss;
}

// The largest or the sum over a block of kTileThreads, in each thread.
template <bool kMax>
__device__ inline float reduce_block(float value, float* scratch) {
  value = kMax ? max_of_lanes<32>(value) : sum_of_lanes<32>(value);
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
