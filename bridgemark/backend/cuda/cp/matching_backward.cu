#include "bridgemark/backend/cuda/cp/matching_tiles.h"
#include "bridgemark/backend/cuda/runtime/check.h"

//   push_back  terms and the gradient through V        [B,S] x [S,tile], [S,B] x [B,tile]
//   add_terms  d loss / d W, for a row
//   pull_back  the gradient through R, and the update  [S,B] x [B,tile]
namespace bridgemark::backend::cuda {

namespace {

using Tiles = Tiling<kTile>;

// Rows of the batch that a block handles at a time: few, so that more blocks share a multiprocessor
// and their loads and products overlap.
constexpr int kRows = 64;

// sum += the categories from t0 of rows^T x weights, over kRows rows.
__device__ void add_rows_product(const float* rows, int Sp, int t0, const float* weights,
                                 float (&sum)[1][Tiles::kWarpColumns][4]) {
  add_tensor_product<1, Tiles::kWarpColumns>(
      SharedMatrix<1, 0>{rows + t0 + Tiles::warp_row(), row_stride(Sp)},
      SharedMatrix<Tiles::kStride, 1>{weights + Tiles::warp_column()}, kRows, sum);
}

// Rows of the exact path: their terms, and their part of the gradient of the cores.
__device__ void push_back_exactly(const MatchingView& view, int d, int k0) {
  if (threadIdx.x >= kTile) return;
  const int k = k0 + threadIdx.x;
  for (int t = 0; t < view.S; ++t) view.exact_gradient[core_at(view, d, t, k)] = 0.0f;
  for (int b = 0; b < view.B; ++b) {
    const std::size_t row = row_at(view, d, b);
    if (view.exact_rows[row] == 0) continue;
    const double log_other =
        static_cast<double>(view.total[static_cast<std::size_t>(b) * view.Kp + k]) -
        static_cast<double>(view.log_r[row * view.Kp + k]);
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

__global__ void __launch_bounds__(kTileThreads, 3) push_back(MatchingView view) {
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, d = blockIdx.y, k0 = (view.first_tile + blockIdx.x) * kTile;
  const int c = Tiles::column();
  float* tile = shared;                            // [Sp][kStride]
  float* weights = tile + Sp * Tiles::kStride;     // [kRows][kStride]
  float* rows = weights + kRows * Tiles::kStride;  // [kRows][row_stride]: d loss / d V
  const float4 high = load4(view.high + static_cast<std::size_t>(d) * view.Kp + k0 + c);
  load_cores<kTile>(view, d, k0, tile);
  for (int t0 = 0; t0 < S; t0 += kBlockCategories) {
    float mixed[1][Tiles::kWarpColumns][4] = {};
    for (int b0 = 0; b0 < view.B; b0 += kRows) {
      __syncthreads();
      const bool begins = t0 == 0 && b0 == 0;
      load_log_r<kRows>(view, d, b0, k0 + c, weights, Tiles::kStride);
      PassValues<kRows> total;
      load_values<kRows>(view, b0, k0 + c, total,
                         [&](int b) { return view.total + static_cast<std::size_t>(b) * view.Kp; });
      if (begins) await_predecessor();
      load_rows<kRows>(view, b0, rows, [&](int b) { return view.back + row_at(view, d, b) * Sp; });
      float shift[kRows / Tiles::kRowGroups];
      each_own_row<kRows>(view, b0, [&](int i, int, int b, bool there) {
        shift[i] = there ? view.shift[row_at(view, d, b)] : 0.0f;
      });
      finish_copies();
      write_others<kRows>(view, b0, total, high, weights, Tiles::kStride,
                          [&](int i, int) { return shift[i]; });
      for (int s = Tiles::row(); begins && s < Sp; s += Tiles::kRowGroups) {
        auto* place = reinterpret_cast<float4*>(tile + s * Tiles::kStride + c);
        *place = s < S ? fast_exp(subtract4(*place, high)) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      }
      __syncthreads();
      if (t0 == 0) {
        RowSums<kRows> sums = {};
        add_tensor_product(
            SharedMatrix<0, 1>{rows + warp_rows<kRows>() * row_stride(Sp), row_stride(Sp)},
            SharedMatrix<Tiles::kStride, 1>{tile + warp_columns()}, Sp, sums);
        each_two_sums<kRows>(sums, [&](int r, int column, float2 sum) {
          const int b = b0 + r;
          if (b >= view.B) return;
          const float2 weight =
              *reinterpret_cast<const float2*>(weights + r * Tiles::kStride + column);
          *reinterpret_cast<float2*>(view.terms + row_at(view, d, b) * view.Kp + k0 + column) =
              make_float2(sum.x * weight.x, sum.y * weight.y);
        });
      }
      add_rows_product(rows, Sp, t0, weights, mixed);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int t = t0 + Tiles::warp_row() + sum_row() + 8 * half;
      if (t >= S) continue;
#pragma unroll
      for (int j = 0; j < Tiles::kWarpColumns; ++j) {
        const int column = Tiles::warp_column() + 8 * j + sum_column();
        *reinterpret_cast<float2*>(view.mixed_gradient + core_at(view, d, t, k0 + column)) =
            make_float2(mixed[0][j][2 * half], mixed[0][j][2 * half + 1]);
      }
    }
  }
  if (view.any_exact[d] != 0) {
    __syncthreads();
    push_back_exactly(view, d, k0);
  }
}

__global__ void __launch_bounds__(kSliceThreads) add_terms(MatchingView view) {
  const int b = blockIdx.x, Kp = view.Kp;
  const int k =
      (first_slice(view) + blockIdx.y) * kSliceComponents + 4 * static_cast<int>(threadIdx.x % 32);
  const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  await_predecessor();
  const float4 sum = add_over_dimensions(view, zero, [&](int d) {
    return k < Kp ? load4(view.terms + row_at(view, d, b) * Kp + k) : zero;
  });
  if (threadIdx.x >= 32 || k >= Kp) return;
  *reinterpret_cast<float4*>(view.total_terms + static_cast<std::size_t>(b) * Kp + k) = sum;
}

// d loss / d R, R scaled by its column's largest.
__device__ float through_log(float total, float term, float log_product, int& any_exact) {
  if (log_product >= kLogProductFloor) return (total - term) * fast_exp(-log_product);
  if (total != term) any_exact = 1;
  return 0.0f;
}

// Entries of R on the exact path: their shares, added to what push_back_exactly left.
__device__ void pull_back_exactly(const MatchingView& view, const Batch& batch, int d, int k) {
  float* out = view.exact_gradient + core_at(view, d, 0, k);
  if (view.any_exact[d] == 0) {
    for (int t = 0; t < view.S; ++t) out[static_cast<std::size_t>(t) * view.Kp] = 0.0f;
  }
  const float high = view.high[static_cast<std::size_t>(d) * view.Kp + k];
  for (int b = 0; b < view.B; ++b) {
    const std::size_t at = row_at(view, d, b) * view.Kp + k;
    if (view.log_r[at] - high >= kLogProductFloor) continue;
    const float weight =
        view.total_terms[static_cast<std::size_t>(b) * view.Kp + k] - view.terms[at];
    if (weight == 0.0f) continue;
    const std::size_t power = view.num_steps - batch.n[b];
    const int x = batch.x_n[static_cast<std::size_t>(b) * view.D + d];
    add_exact_shares(view.log_q + (power * view.S + x) * view.S,
                     view.log_cores + core_at(view, d, 0, k), view.Kp, view.S, view.log_r[at],
                     weight, out);
  }
}

__global__ void __launch_bounds__(kTileThreads, 3) pull_back(MatchingView view, Batch batch) {
  extern __shared__ float shared[];
  const int S = view.S, Sp = view.Sp, d = blockIdx.y, k0 = (view.first_tile + blockIdx.x) * kTile;
  const int c = Tiles::column();
  float* weights = shared;                         // [kRows][kStride]: d loss / d R
  float* rows = weights + kRows * Tiles::kStride;  // [kRows][row_stride]
  __shared__ float scratch[4 * kTileThreads];
  __shared__ double sums_of_loss[kTileThreads];
  __shared__ int any_exact;
  if (threadIdx.x == 0) any_exact = 0;
  const float4 high = load4(view.high + static_cast<std::size_t>(d) * view.Kp + k0 + c);
  float4 beta = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int t0 = 0; t0 < S; t0 += kBlockCategories) {
    float sum[1][Tiles::kWarpColumns][4] = {};
    for (int b0 = 0; b0 < view.B; b0 += kRows) {
      __syncthreads();
      load_sources<kRows>(view, batch, d, b0, rows);
      load_log_r<kRows>(view, d, b0, k0 + c, weights, Tiles::kStride);
      PassValues<kRows> terms, totals;
      load_values<kRows>(view, b0, k0 + c, terms,
                         [&](int b) { return view.terms + row_at(view, d, b) * view.Kp; });
      if (t0 == 0 && b0 == 0) await_predecessor();
      load_values<kRows>(view, b0, k0 + c, totals, [&](int b) {
        return view.total_terms + static_cast<std::size_t>(b) * view.Kp;
      });
      finish_copies();
      each_own_row<kRows>(view, b0, [&](int i, int r, int, bool there) {
        float* place = weights + r * Tiles::kStride + c;
        const float4 log_product = subtract4(load4(place), high), total = totals[i];
        float out[4] = {};
        if (there) {
          out[0] = through_log(total.x, terms[i].x, log_product.x, any_exact);
          out[1] = through_log(total.y, terms[i].y, log_product.y, any_exact);
          out[2] = through_log(total.z, terms[i].z, log_product.z, any_exact);
          out[3] = through_log(total.w, terms[i].w, log_product.w, any_exact);
          if (d == 0 && t0 == 0) beta = add4(beta, total);
        }
        store4(place, out);
      });
      __syncthreads();
      add_rows_product(rows, Sp, t0, weights, sum);
    }
    if (t0 == 0 && any_exact != 0) {
      if (threadIdx.x < kTile) pull_back_exactly(view, batch, d, k0 + threadIdx.x);
    }
    float4 cores[Tiles::kOwnRows], mixed[Tiles::kOwnRows];
#pragma unroll
    for (int j = 0; j < Tiles::kOwnRows; ++j) {
      const int t = min(S - 1, t0 + Tiles::row() + j * Tiles::kRowGroups);
      cores[j] = load4(view.log_cores + core_at(view, d, t, k0 + c));
      mixed[j] = load4(view.mixed_gradient + core_at(view, d, t, k0 + c));
    }
    __syncthreads();
    store_sums<kTile>(sum, weights);  // [kBlockCategories][kStride]
    __syncthreads();
    const bool exact = any_exact != 0 || view.any_exact[d] != 0;
#pragma unroll
    for (int j = 0; j < Tiles::kOwnRows; ++j) {
      const int r = Tiles::row() + j * Tiles::kRowGroups, t = t0 + r;
      if (t >= S) continue;
      const std::size_t at = core_at(view, d, t, k0 + c);
      const float4 core = cores[j];
      const float4 pulled = add4(load4(weights + r * Tiles::kStride + c), mixed[j]);
      const float4 factor = fast_exp(subtract4(core, high));
      float gradient[4] = {pulled.x * factor.x, pulled.y * factor.y, pulled.z * factor.z,
                           pulled.w * factor.w};
      if (exact) {
#pragma unroll
        for (int i = 0; i < 4; ++i) gradient[i] += view.exact_gradient[at + i];
      }
      finish_cores(view, at, core, gradient);
    }
  }
  if (d == 0) add_up_beta<kTile>(view, k0, beta, scratch);
  if (d == 0 && k0 == 0) {
    __syncthreads();
    add_up_loss(view, view.D * view.B, sums_of_loss);
  }
}

std::size_t pull_back_bytes(int Sp) {
  return sizeof(float) *
         static_cast<std::size_t>(kRows * (Tiles::kStride + row_stride(Sp)) + kBlockCategories);
}

std::size_t push_back_bytes(int Sp) {
  return pull_back_bytes(Sp) + sizeof(float) * static_cast<std::size_t>(Sp * Tiles::kStride);
}

}  // namespace

void prepare_backward(const MatchingView& view) {
  allow_shared_memory(reinterpret_cast<const void*>(push_back), push_back_bytes(view.Sp), view.S);
  allow_shared_memory(reinterpret_cast<const void*>(pull_back), pull_back_bytes(view.Sp), view.S);
}

void launch_backward(const MatchingView& view, const Batch& batch, bool follows,
                     cudaStream_t stream) {
  const dim3 tiles(view.num_tiles, view.D);
  launch_following(follows, push_back, tiles, kTileThreads, push_back_bytes(view.Sp), stream, view);
  launch_overlapping(add_terms, dim3(view.B, own_slices(view)), kSliceThreads, 0, stream, view);
  launch_overlapping(pull_back, tiles, kTileThreads, pull_back_bytes(view.Sp), stream, view, batch);
}

}  // namespace bridgemark::backend::cuda
