#pragma once

#include "bridgemark/backend/cuda/cp/cp_tiles.h"
#include "bridgemark/backend/cuda/cp/matching_steps.h"
#include "bridgemark/backend/cuda/runtime/overlap.h"

// What the kernels of the matching loss share; matching_steps.h names them.
namespace bridgemark::backend::cuda {

// A row's slice of the components is summed over the dimensions by kSliceWarps warps, each with a
// part of them; a lane has four components.
inline constexpr int kSliceWarps = 4, kSliceThreads = 32 * kSliceWarps;
static_assert(kSliceComponents == 32 * 4);

__device__ inline std::size_t row_at(const MatchingView& view, int d, int b) {
  return static_cast<std::size_t>(d) * view.B + b;
}

// start + the sum over dimensions of value(d), by the whole block; for threads of the first warp.
template <typename Value>
__device__ inline float4 add_over_dimensions(const MatchingView& view, float4 start,
                                             Value&& value) {
  __shared__ float4 parts[kSliceWarps][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float4 sum = warp == 0 ? start : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 16
  for (int d = warp; d < view.D; d += kSliceWarps) sum = add4(sum, value(d));
  parts[warp][lane] = sum;
  __syncthreads();
  if (warp == 0) {
#pragma unroll
    for (int i = 1; i < kSliceWarps; ++i) sum = add4(sum, parts[i][lane]);
  }
  return sum;
}

// The largest W of a row over its slices.
__device__ inline float row_high(const MatchingView& view, int b) {
  const int slices = count_slices(view);
  float largest = -INFINITY;
#pragma unroll 8
  for (int slice = 0; slice < slices; ++slice) {
    largest = fmaxf(largest, view.row_high[static_cast<std::size_t>(b) * slices + slice]);
  }
  return largest;
}

// A thread's rows of a pass, four components each: log R on its way to shared memory, at `to`,
// `stride` apart, and values of [B, Kp] on theirs to registers. All at once: the waits for memory
// would add up.
template <int Rows>
using PassValues = float4[Rows / Tiling<kTile>::kRowGroups];

template <int Rows, typename Visit>
__device__ inline void each_own_row(const MatchingView& view, int b0, Visit&& visit) {
  using T = Tiling<kTile>;
#pragma unroll
  for (int i = 0; i < Rows / T::kRowGroups; ++i) {
    const int r = T::row() + i * T::kRowGroups, b = b0 + r;
    visit(i, r, b, b < view.B);
  }
}

template <int Rows>
__device__ inline void load_log_r(const MatchingView& view, int d, int b0, int k, float* to,
                                  int stride) {
  each_own_row<Rows>(view, b0, [&](int, int r, int b, bool there) {
    copy4(to + r * stride + Tiling<kTile>::column(),
          view.log_r + row_at(view, d, there ? b : 0) * view.Kp + k, there);
  });
}

// `from(b)` is where row b begins.
template <int Rows, typename From>
__device__ inline void load_values(const MatchingView& view, int b0, int k,
                                   PassValues<Rows>& values, From&& from) {
  each_own_row<Rows>(view, b0, [&](int i, int, int b, bool there) {
    values[i] = there ? load4(from(b) + k) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  });
}

// exp(W - log R_d + high_d - shift(r)) takes the place of log R; 0 behind the batch.
template <int Rows, typename Shift>
__device__ inline void write_others(const MatchingView& view, int b0, const PassValues<Rows>& total,
                                    float4 high, float* weights, int stride, Shift&& shift) {
  each_own_row<Rows>(view, b0, [&](int i, int r, int, bool there) {
    auto* place = reinterpret_cast<float4*>(weights + r * stride + Tiling<kTile>::column());
    const float low = shift(i, r);
    const float4 log_other = add4(subtract4(total[i], *place), high);
    *place = there ? fast_exp(subtract4(log_other, make_float4(low, low, low, low)))
                   : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  });
}

// Rows of the batch by categories in shared memory, [Rows][row_stride(Sp)]: no two lanes of a
// product in one bank.
constexpr int row_stride(int Sp) { return Sp + 4; }

// Copies rows[r,:] = from(b) + [0, Sp) for the rows of a pass, 0 behind the batch.
template <int Rows, typename From>
__device__ inline void load_rows(const MatchingView& view, int b0, float* rows, From&& from) {
  using T = Tiling<kTile>;
  constexpr int kRows = Rows / T::kRowGroups;
  const float* sources[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int b = b0 + T::row() + i * T::kRowGroups;
    sources[i] = from(b < view.B ? b : 0);
  }
  for (int t = T::column(); t < view.Sp; t += kTile) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int r = T::row() + i * T::kRowGroups;
      copy4(rows + r * row_stride(view.Sp) + t, sources[i] + t,
            b0 + T::row() + i * T::kRowGroups < view.B);
    }
  }
}

// Copies rows[r,:] = Q_rest[x,:].
template <int Rows>
__device__ inline void load_sources(const MatchingView& view, const Batch& batch, int d, int b0,
                                    float* rows) {
  load_rows<Rows>(view, b0, rows, [&](int b) {
    const std::size_t power = view.num_steps - batch.n[b];
    const int x = batch.x_n[static_cast<std::size_t>(b) * view.D + d];
    return view.q + (power * view.S + x) * view.Sp;
  });
}

// A warp's part of a product with rows of the batch on the left: a quarter of them, 32 columns.
inline constexpr int kColumnBlocks = 4;
template <int Rows>
using RowSums = float[Rows / 64][kColumnBlocks][4];
template <int Rows>
__device__ inline int warp_rows() {
  return Rows / 4 * static_cast<int>(threadIdx.x / 32 % 4);
}
__device__ inline int warp_columns() { return 32 * static_cast<int>(threadIdx.x / 128); }

// Calls visit(row, column, sums) for each two sums that lie side by side.
template <int Rows, typename Visit>
__device__ inline void each_two_sums(const RowSums<Rows>& sums, Visit&& visit) {
#pragma unroll
  for (int i = 0; i < Rows / 64; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int j = 0; j < kColumnBlocks; ++j) {
        visit(warp_rows<Rows>() + 16 * i + 8 * half + sum_row(),
              warp_columns() + 8 * j + sum_column(),
              make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]));
      }
    }
  }
}

}  // namespace bridgemark::backend::cuda
