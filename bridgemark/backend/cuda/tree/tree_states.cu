#include "bridgemark/backend/cuda/tree/tree_states.h"

#include "bridgemark/backend/cuda/runtime/check.h"

namespace bridgemark::backend::cuda {

namespace {

__global__ void sum_states(HiddenTree tree, const std::int32_t* x, std::size_t rows,
                           double* scratch, double* out) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  out[b] = log_all_states(tree, x + b * tree.D, scratch + b * tree_sum_scratch(tree));
}

__global__ void sum_other_states(HiddenTree tree, const std::int32_t* x, std::size_t rows,
                                 double* scratch, double* others) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  log_other_states(tree, x + b * tree.D, others + b * tree.D * tree.K,
                   scratch + b * tree_other_scratch(tree));
}

__global__ void draw_nodes(HiddenTree tree, const std::int32_t* x, DrawKey key,
                           std::uint64_t first_index, std::size_t rows, double* scratch,
                           std::int32_t* states) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  draw_states(
      tree, x + b * tree.D, [&](std::size_t i) { return draw_uniform(key, first_index + b, i); },
      states + b * tree.M, scratch + b * tree_draw_scratch(tree));
}

}  // namespace

HiddenTree upload_tree(Memory& memory, const HiddenTree& host) {
  const std::size_t D = host.D, S = host.S, K = host.K, M = host.M, moves = (M - 1) * K * K;
  return {D,
          S,
          K,
          M,
          memory.upload(host.parent, M),
          memory.upload(host.node_of, D),
          memory.upload(host.log_root, K),
          memory.upload(host.root, K),
          memory.upload(host.log_moves, moves),
          memory.upload(host.moves, moves),
          memory.upload(host.log_emission, D * S * K),
          memory.upload(host.emission, D * S * K)};
}

void launch_sum_states(const HiddenTree& tree, const std::int32_t* x, std::size_t rows,
                       double* scratch, double* out, cudaStream_t stream) {
  sum_states<<<blocks_for(rows), kThreads, 0, stream>>>(tree, x, rows, scratch, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_sum_other_states(const HiddenTree& tree, const std::int32_t* x, std::size_t rows,
                             double* scratch, double* others, cudaStream_t stream) {
  sum_other_states<<<blocks_for(rows), kThreads, 0, stream>>>(tree, x, rows, scratch, others);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_draw_states(const HiddenTree& tree, const std::int32_t* x, const DrawKey& key,
                        std::uint64_t first_index, std::size_t rows, double* scratch,
                        std::int32_t* states, cudaStream_t stream) {
  draw_nodes<<<blocks_for(rows), kThreads, 0, stream>>>(tree, x, key, first_index, rows, scratch,
                                                        states);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
