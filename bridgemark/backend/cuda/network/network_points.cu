#include "bridgemark/backend/cuda/bridge/source_rows.h"
#include "bridgemark/backend/cuda/network/network_view.h"
#include "bridgemark/backend/cuda/runtime/check.h"

// The random rows of network training, one block a row, with the draws that the CPU makes for the
// same index.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kDrawThreads = 128;

__global__ void draw_ends(RowSourceView source0, RowSourceView source1, int D, int S,
                          const Progress* progress, int ahead, EndsView out) {
  const unsigned long long update = progress->index + ahead;
  const std::size_t rows = out.rows, b = blockIdx.x;
  const std::uint64_t index = update * rows + b;
  const std::size_t at = (update % 2 * rows + b) * D;
  draw_source(source0, index, static_cast<int>(b), D, S, out.x0 + at);
  if (source0.has_step) draw_step(source0, index, static_cast<int>(b), D, S, out.x0 + at);
  draw_source(source1, index, static_cast<int>(b), D, S, out.x1 + at);
  if (source1.has_step) draw_step(source1, index, static_cast<int>(b), D, S, out.x1 + at);
}

__global__ void draw_points(PinnedView pinned, int D, int S, int num_steps, std::size_t first_row,
                            std::size_t points, int direction, const Progress* progress,
                            EndsView ends, const std::int32_t* sampled, PointsView out) {
  const std::size_t i = blockIdx.x, b = i / points;
  const std::uint64_t index = (progress->index * ends.rows + first_row) * points + i;
  const std::size_t from = b * D, half = (progress->index % 2 * ends.rows + first_row + b) * D;
  // What leads to x1 trains on a sampled x0, and the other way round.
  const std::int32_t* x0 = sampled != nullptr && direction == 0 ? sampled + from : ends.x0 + half;
  const std::int32_t* x1 = sampled != nullptr && direction == 1 ? sampled + from : ends.x1 + half;
  const int done = draw_time(pinned.steps, num_steps, draw_uniform(pinned.time_key, index, 0));
  const int left = num_steps - done;
  // Steps are done from x0 in direction 0 and from x1 in direction 1; times count from x0.
  const std::size_t table = static_cast<std::size_t>(direction == 0 ? done : left) * S * S;
  for (int d = threadIdx.x; d < D; d += blockDim.x) {
    const std::size_t r0 = table + static_cast<std::size_t>(x0[d]) * S;
    const std::size_t r1 = table + static_cast<std::size_t>(x1[d]) * S;
    out.x[i * D + d] = static_cast<std::int32_t>(
        draw_product(pinned.before + r0, pinned.after + r1, pinned.log_before + r0,
                     pinned.log_after + r1, S, draw_uniform(pinned.state_key, index, d)));
    out.clean[i * D + d] = direction == 0 ? x1[d] : x0[d];
  }
  if (threadIdx.x == 0) out.steps_left[i] = left;
}

__global__ void next_update(Progress* progress) {
  ++progress->index;
  ++progress->local;
}

}  // namespace

void launch_ends(const RowSourceView& x0, const RowSourceView& x1, int D, int S,
                 const Progress* progress, int ahead, const EndsView& out, cudaStream_t stream) {
  draw_ends<<<static_cast<unsigned>(out.rows), kDrawThreads, 0, stream>>>(x0, x1, D, S, progress,
                                                                          ahead, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_points(const PinnedView& pinned, int D, int S, int num_steps, std::size_t first_row,
                   std::size_t batch_size, std::size_t points, int direction,
                   const Progress* progress, const EndsView& ends, const std::int32_t* sampled,
                   const PointsView& out, cudaStream_t stream) {
  draw_points<<<static_cast<unsigned>(batch_size * points), kDrawThreads, 0, stream>>>(
      pinned, D, S, num_steps, first_row, points, direction, progress, ends, sampled, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_next_update(Progress* progress, cudaStream_t stream) {
  next_update<<<1, 1, 0, stream>>>(progress);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
