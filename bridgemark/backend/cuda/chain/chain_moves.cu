#include <cmath>

#include "bridgemark/backend/cuda/chain/chain_view.h"
#include "bridgemark/backend/cuda/device/adamw.h"
#include "bridgemark/backend/cuda/device/fast_math.h"
#include "bridgemark/backend/cuda/device/lanes.h"
#include "bridgemark/backend/cuda/runtime/check.h"

// The gradient of the moves: the posteriors of pairs (z_d, z_{d+1}), added over the rows of both
// sides in their order.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kMoveThreads = 256;
constexpr int kOwnMoves = kStateTile * kStateTile / kMoveThreads;  // of a thread, below each other
constexpr int kRowsAtOnce = 32;

// A pair's factors leave the range of float where their sum is below exp of this.
constexpr float kLogSumFloor = -41.4f;

// kRowsAtOnce rows of one side: the factors of their pairs, and their logarithms.
struct RowTile {
  float before[kRowsAtOnce][kStateTile], after[kRowsAtOnce][kStateTile];
  float log_before[kRowsAtOnce][kStateTile], log_after[kRowsAtOnce][kStateTile];
  bool exact[kRowsAtOnce];
};

__device__ void load_rows(const ChainView& view, int side, int d, int first, int i0, int j0,
                          RowTile& tile) {
  const std::size_t B = view.B, Kp = view.Kp;
  for (int i = threadIdx.x; i < kRowsAtOnce * kStateTile; i += kMoveThreads) {
    const int r = i / kStateTile, k = i % kStateTile;
    const bool there = first + r < view.B;
    const std::size_t row = d * B + first + r;
    const float before = there ? view.before[side][row * Kp + i0 + k] : -INFINITY;
    const float after = there ? view.after[side][(row + B) * Kp + j0 + k] : -INFINITY;
    const bool exact = there && view.log_sums[side][row] < kLogSumFloor;
    tile.log_before[r][k] = before;
    tile.log_after[r][k] = after;
    tile.before[r][k] = fast_exp(before);
    tile.after[r][k] = exact ? 0.0f : fast_exp(after);
    if (k == 0) tile.exact[r] = exact;
  }
}

// One block for a tile of the moves behind coordinate d; a thread has one column.
__global__ void __launch_bounds__(kMoveThreads) update_moves(ChainView view) {
  __shared__ RowTile tile;
  const int d = blockIdx.z, i0 = blockIdx.y * kStateTile, j0 = blockIdx.x * kStateTile;
  const int j = threadIdx.x % kStateTile, i = threadIdx.x / kStateTile * kOwnMoves;
  const std::size_t Kp = view.Kp, first = (d * Kp + i0 + i) * Kp + j0 + j;
  const float high = view.moves_high[d];
  float sums[kOwnMoves] = {}, exact[kOwnMoves] = {};
  for (int side = 0; side < 2; ++side) {
    const float sign = side == 0 ? 1.0f : -1.0f;
    for (int row = 0; row < view.B; row += kRowsAtOnce) {
      load_rows(view, side, d, row, i0, j0, tile);
      __syncthreads();
      for (int r = 0; r < kRowsAtOnce; ++r) {
        const float after = sign * tile.after[r][j];
#pragma unroll
        for (int m = 0; m < kOwnMoves; ++m) sums[m] = fmaf(tile.before[r][i + m], after, sums[m]);
        if (!tile.exact[r]) continue;
        for (int m = 0; m < kOwnMoves; ++m) {
          const float log_move = view.log_moves[first + m * Kp] - high;
          exact[m] += sign * fast_exp(tile.log_before[r][i + m] + log_move + tile.log_after[r][j]);
        }
      }
      __syncthreads();
    }
  }
  for (int m = 0; m < kOwnMoves; ++m) {
    const std::size_t at = first + m * Kp;
    const float gradient = fmaf(sums[m], view.moves[at], exact[m]) / static_cast<float>(view.B);
    if (view.gradient_moves != nullptr) {
      view.gradient_moves[at] = gradient;
    } else {
      const UpdateSettings settings =
          view.settings[view.progress->local + static_cast<unsigned>(view.ahead)];
      update_parameter(settings.adamw, gradient, view.log_moves[at], view.first_moves[at],
                       view.second_moves[at]);
      if (settings.share > 0.0f) {
        update_average(settings.share, view.log_moves[at], view.average_moves[at]);
      }
    }
  }
}

// One block for each matrix.
__global__ void __launch_bounds__(kMoveThreads) scale_moves(ChainView view) {
  __shared__ float warps[kMoveThreads / 32];
  const int Kp = view.Kp, size = Kp * Kp;
  const std::size_t first = blockIdx.x * static_cast<std::size_t>(size);
  float high = -INFINITY;
  for (int i = threadIdx.x; i < size; i += kMoveThreads) {
    high = fmaxf(high, view.log_moves[first + i]);
  }
  high = max_of_lanes<32>(high);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = high;
  __syncthreads();
  for (int w = 0; w < kMoveThreads / 32; ++w) high = fmaxf(high, warps[w]);
  if (threadIdx.x == 0) view.moves_high[blockIdx.x] = high;
  for (int i = threadIdx.x; i < size; i += kMoveThreads) {
    const float value = fast_exp(view.log_moves[first + i] - high);
    view.moves[first + i] = value;
    view.moves_transposed[first + i % Kp * Kp + i / Kp] = value;
  }
}

}  // namespace

void launch_scale_moves(const ChainView& view, cudaStream_t stream) {
  if (view.D == 1) return;
  scale_moves<<<view.D - 1, kMoveThreads, 0, stream>>>(view);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_moves(const ChainView& view, cudaStream_t stream) {
  if (view.D == 1) return;
  const unsigned tiles = static_cast<unsigned>(view.Kp / kStateTile);
  update_moves<<<dim3(tiles, tiles, view.D - 1), kMoveThreads, 0, stream>>>(view);
  BM_CUDA_CHECK(cudaGetLastError());
  if (view.gradient_moves == nullptr) launch_scale_moves(view, stream);
}

}  // namespace bridgemark::backend::cuda
