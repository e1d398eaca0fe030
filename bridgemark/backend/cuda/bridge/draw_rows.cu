#include <algorithm>

#include "bridgemark/backend/cuda/bridge/source_rows.h"
#include "bridgemark/backend/cuda/cp/cp_view.h"
#include "bridgemark/backend/cuda/runtime/check.h"

// Rows drawn where they are used: one block a row, with the draws that the CPU makes for the same
// index.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kDrawThreads = 128;
// Blocks of a multiprocessor: they run beside a training's updates and must leave them registers.
constexpr int kDrawBlocks = 6;

// Row b of the batches that lie one behind the other.
__device__ std::uint64_t row_index(const CpView& view, int b) {
  return (view.progress->index + view.ahead) * view.B + b;
}

__global__ void __launch_bounds__(kDrawThreads, kDrawBlocks)
    draw_ends(CpView view, RowSourceView source0, RowSourceView source1, Batch out) {
  extern __shared__ std::int32_t rows[];
  const int D = view.D, S = view.S, b = blockIdx.x;
  std::int32_t *x0 = rows, *x1 = rows + D;
  const std::uint64_t index = row_index(view, b);
  draw_source(source0, index, b, D, S, x0);
  if (source0.has_step) draw_step(source0, index, b, D, S, x0);
  draw_source(source1, index, b, D, S, x1);
  if (source1.has_step) draw_step(source1, index, b, D, S, x1);
  for (int d = threadIdx.x; d < D; d += blockDim.x) {
    out.x0[static_cast<std::size_t>(b) * D + d] = x0[d];
    out.x1[static_cast<std::size_t>(b) * D + d] = x1[d];
  }
}

__global__ void draw_points(CpView view, PinnedView pinned, Batch out) {
  const int D = view.D, S = view.S, b = blockIdx.x;
  const std::uint64_t index = row_index(view, b);
  const std::int32_t *x0 = out.x0 + static_cast<std::size_t>(b) * D,
                     *x1 = out.x1 + static_cast<std::size_t>(b) * D;
  const int n = draw_time(pinned.steps, view.num_steps, draw_uniform(pinned.time_key, index, 0));
  if (threadIdx.x == 0) out.n[b] = n;
  const std::size_t table = static_cast<std::size_t>(n) * S * S;
  for (int d = threadIdx.x; d < D; d += blockDim.x) {
    const std::size_t i = table + static_cast<std::size_t>(x0[d]) * S;
    const std::size_t j = table + static_cast<std::size_t>(x1[d]) * S;
    out.x_n[static_cast<std::size_t>(b) * D + d] = static_cast<std::int32_t>(
        draw_product(pinned.before + i, pinned.after + j, pinned.log_before + i,
                     pinned.log_after + j, S, draw_uniform(pinned.state_key, index, d)));
  }
}

__global__ void draw_pairs(RowSourceView source, int D, int S, std::uint64_t first_index,
                           std::int32_t* out0, std::int32_t* out1) {
  extern __shared__ std::int32_t rows[];
  const std::size_t b = blockIdx.x;
  const auto store = [&](std::int32_t* out) {
    for (int d = threadIdx.x; d < D; d += blockDim.x) out[b * D + d] = rows[d];
  };
  draw_source(source, first_index + b, static_cast<int>(b), D, S, rows);
  if (out0 != nullptr) store(out0);
  if (out1 == nullptr || !source.has_step) return;
  draw_step(source, first_index + b, static_cast<int>(b), D, S, rows);
  store(out1);
}

}  // namespace

void launch_pairs(const RowSourceView& source, int D, int S, std::uint64_t first_index,
                  std::size_t rows, std::int32_t* out0, std::int32_t* out1, cudaStream_t stream) {
  // Few dimensions need few threads; a warp at the least.
  const int threads = std::clamp((D + 31) / 32 * 32, 32, kDrawThreads);
  draw_pairs<<<static_cast<unsigned>(rows), threads, D * sizeof(std::int32_t), stream>>>(
      source, D, S, first_index, out0, out1);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_draws(const CpView& view, const RowSourceView& x0, const RowSourceView& x1,
                  const PinnedView& pinned, const CouplingView& coupling, const Batch& out,
                  cudaStream_t stream) {
  const int rows = kBatchesAhead * view.B;
  draw_ends<<<rows, kDrawThreads, 2 * view.D * sizeof(std::int32_t), stream>>>(view, x0, x1, out);
  BM_CUDA_CHECK(cudaGetLastError());
  if (coupling.log_q != nullptr) {
    launch_coupling(coupling, view.D, view.S, &view.progress->index, view.ahead, view.B,
                    kBatchesAhead, out.x0, out.x1, stream);
  }
  if (pinned.before == nullptr) return;
  draw_points<<<rows, kDrawThreads, 0, stream>>>(view, pinned, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
