#include "bridgemark/backend/cuda/cp/matching_tiles.h"
#include "bridgemark/backend/cuda/runtime/check.h"

//   propagate_rows  log R of a tile                 [B,S] x [S,tile]
//   add_dimensions  W and its largest, for a row
//   mix             V, in parts of the components   [B,part] x [part,S]
namespace bridgemark::backend::cuda {

namespace {

using Tiles = Tiling<kTile>;

constexpr int kMixStride = kTile + 4;  // rows of a tile read side by side

// Rows of the batch of a block of mix: few, so that more blocks share a multiprocessor.
constexpr int kMixRows = 64;
constexpr int count_mix_passes(const MatchingView& view) {
  return (view.B + kMixRows - 1) / kMixRows;
}

// Entries of log R that propagate_rows left at -infinity.
__device__ void propagate_exactly(const MatchingView& view, const Batch& batch, int d, int k0) {
  for (int i = threadIdx.x; i < view.B * kTile; i += kTileThreads) {
    const int b = i / kTile, c = i % kTile;
    float& log_r = view.log_r[row_at(view, d, b) * view.Kp + k0 + c];
    if (log_r > -INFINITY) continue;
    const std::size_t power = view.num_steps - batch.n[b];
    const int x = batch.x_n[static_cast<std::size_t>(b) * view.D + d];
    log_r = static_cast<float>(exact_log_dot(view.log_q + (power * view.S + x) * view.S,
                                             view.log_cores + core_at(view, d, 0, k0 + c), view.Kp,
                                             view.S));
  }
}

__global__ void __launch_bounds__(kTileThreads, 3) propagate_rows(MatchingView view, Batch batch) {
  extern __shared__ float shared[];
  const int Sp = view.Sp, d = blockIdx.y, k0 = (view.first_tile + blockIdx.x) * kTile;
  float* tile = shared;                      // [Sp][kStride]
  float* rows = tile + Sp * Tiles::kStride;  // [kPassRows][row_stride]
  __shared__ float high[kTile], scratch[kTileThreads];
  load_sources<kPassRows>(view, batch, d, 0, rows);
  await_predecessor();
  load_cores<kTile>(view, d, k0, tile);
  finish_copies();
  __syncthreads();
  scale_columns<kTile>(view, d, k0, tile, high, scratch);
  bool out_of_range = false;
  for (int b0 = 0; b0 < view.B; b0 += kPassRows) {
    if (b0 > 0) {
      __syncthreads();
      load_sources<kPassRows>(view, batch, d, b0, rows);
      finish_copies();
      __syncthreads();
    }
    RowSums<kPassRows> sums = {};
    add_tensor_product(
        SharedMatrix<0, 1>{rows + warp_rows<kPassRows>() * row_stride(Sp), row_stride(Sp)},
        SharedMatrix<Tiles::kStride, 1>{tile + warp_columns()}, Sp, sums);
    each_two_sums<kPassRows>(sums, [&](int r, int c, float2 sum) {
      const int b = b0 + r;
      if (b >= view.B) return;
      out_of_range |= fminf(sum.x, sum.y) < kProductFloor;
      *reinterpret_cast<float2*>(view.log_r + row_at(view, d, b) * view.Kp + k0 + c) =
          make_float2(sum.x >= kProductFloor ? fast_log(sum.x) + high[c] : -INFINITY,
                      sum.y >= kProductFloor ? fast_log(sum.y) + high[c + 1] : -INFINITY);
    });
  }
  if (__syncthreads_or(out_of_range)) propagate_exactly(view, batch, d, k0);
}

__global__ void __launch_bounds__(kSliceThreads) add_dimensions(MatchingView view) {
  const int b = blockIdx.x, slice = first_slice(view) + blockIdx.y, Kp = view.Kp;
  const int k = slice * kSliceComponents + 4 * static_cast<int>(threadIdx.x % 32);
  const bool there = k < Kp;
  const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  await_predecessor();
  const float4 sum = add_over_dimensions(view, there ? load4(view.log_beta + k) : zero, [&](int d) {
    return there ? load4(view.log_r + row_at(view, d, b) * Kp + k) : zero;
  });
  if (threadIdx.x >= 32) return;
  float largest = -INFINITY;
  if (there) {
    *reinterpret_cast<float4*>(view.total + static_cast<std::size_t>(b) * Kp + k) = sum;
    largest = fmaxf(fmaxf(sum.x, sum.y), fmaxf(sum.z, sum.w));
  }
  largest = max_of_lanes<32>(largest);
  if (threadIdx.x == 0) {
    view.row_high[static_cast<std::size_t>(b) * count_slices(view) + slice] = largest;
  }
}

// The block's pass of rows and categories lie in blockIdx.z.
__global__ void __launch_bounds__(kTileThreads, 4) mix(MatchingView view) {
  extern __shared__ float shared[];
  const int S = view.S, d = blockIdx.y, part = blockIdx.x;
  const int passes = count_mix_passes(view);
  const int b0 = (blockIdx.z % passes) * kMixRows, t0 = (blockIdx.z / passes) * kBlockCategories;
  float* weights = shared;                         // [kMixRows][kMixStride]
  float* cores = weights + kMixRows * kMixStride;  // [kBlockCategories][kMixStride]
  __shared__ float highs[kMixRows];
  const int c = Tiles::column(), first = part * view.tiles_of_part * kTile;
  const int end = min(view.Kp, first + view.tiles_of_part * kTile);
  // What propagate_rows left and what does not change.
  const auto load_tile = [&](int k0) {
    load_log_r<kMixRows>(view, d, b0, k0 + c, weights, kMixStride);
#pragma unroll
    for (int i = 0; i < kBlockCategories / Tiles::kRowGroups; ++i) {
      const int r = Tiles::row() + i * Tiles::kRowGroups, t = t0 + r;
      copy4(cores + r * kMixStride + c, view.log_cores + core_at(view, d, t < S ? t : 0, k0 + c),
            t < S);
    }
    return load4(view.high + static_cast<std::size_t>(d) * view.Kp + k0 + c);
  };
  float4 high = load_tile(first);
  await_predecessor();
  for (int r = threadIdx.x; r < kMixRows && b0 + r < view.B; r += kTileThreads) {
    highs[r] = row_high(view, b0 + r);
  }
  if (threadIdx.x == 0 && part == 0 && blockIdx.z == 0) view.any_exact[d] = 0;
  RowSums<kMixRows> sums = {};
  for (int k0 = first; k0 < end; k0 += kTile) {
    if (k0 > first) high = load_tile(k0);
    PassValues<kMixRows> total;
    load_values<kMixRows>(view, b0, k0 + c, total, [&](int b) {
      return view.total + static_cast<std::size_t>(b) * view.Kp;
    });
    finish_copies();
    if (k0 == first) __syncthreads();  // for highs
    write_others<kMixRows>(view, b0, total, high, weights, kMixStride,
                           [&](int, int r) { return highs[r]; });
#pragma unroll
    for (int i = 0; i < kBlockCategories / Tiles::kRowGroups; ++i) {
      const int r = Tiles::row() + i * Tiles::kRowGroups;
      auto* place = reinterpret_cast<float4*>(cores + r * kMixStride + c);
      *place = t0 + r < S ? fast_exp(subtract4(*place, high)) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    __syncthreads();
    add_tensor_product(SharedMatrix<kMixStride, 1>{weights + warp_rows<kMixRows>() * kMixStride},
                       SharedMatrix<1, kMixStride>{cores + warp_columns() * kMixStride}, kTile,
                       sums);
    __syncthreads();
  }
  each_two_sums<kMixRows>(sums, [&](int r, int column, float2 sum) {
    const int b = b0 + r, t = t0 + column;
    if (b >= view.B || t >= view.Sp) return;
    const std::size_t row = static_cast<std::size_t>(part) * view.D * view.B + row_at(view, d, b);
    *reinterpret_cast<float2*>(view.partial + row * view.Sp + t) = sum;
  });
}

std::size_t propagate_bytes(int Sp) {
  return sizeof(float) * static_cast<std::size_t>(Sp * Tiles::kStride + kPassRows * row_stride(Sp));
}

constexpr std::size_t kMixBytes = sizeof(float) * (kMixRows + kBlockCategories) * kMixStride;

}  // namespace

void prepare_forward(const MatchingView& view) {
  allow_shared_memory(reinterpret_cast<const void*>(propagate_rows), propagate_bytes(view.Sp),
                      view.S);
  allow_shared_memory(reinterpret_cast<const void*>(mix), kMixBytes, view.S);
}

void launch_propagation(const MatchingView& view, const Batch& batch, bool follows,
                        cudaStream_t stream) {
  launch_following(follows, propagate_rows, dim3(view.num_tiles, view.D), kTileThreads,
                   propagate_bytes(view.Sp), stream, view, batch);
  launch_overlapping(add_dimensions, dim3(view.B, own_slices(view)), kSliceThreads, 0, stream,
                     view);
}

void launch_mix(const MatchingView& view, bool follows, cudaStream_t stream) {
  const int blocks = (view.S + kBlockCategories - 1) / kBlockCategories;
  const dim3 grid(count_parts(view), view.D, count_mix_passes(view) * blocks);
  launch_following(follows, mix, grid, kTileThreads, kMixBytes, stream, view);
}

}  // namespace bridgemark::backend::cuda
