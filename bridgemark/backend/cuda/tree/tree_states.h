#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/plan/tree_tables.h"
#include "bridgemark/math/hidden_tree.h"
#include "bridgemark/math/philox.h"

// Sums over the states of a hidden tree and draws of them, one thread a row, by the mathematics of
// the CPU (math/hidden_tree.h). Rows x are [rows,D], all arrays in device memory.
namespace bridgemark::backend::cuda {

// Doubles of scratch that a row takes: log_all_states, log_other_states, draw_states.
BM_HD constexpr std::size_t tree_sum_scratch(const HiddenTree& tree) {
  return (tree.M + 1) * tree.K;
}
BM_HD constexpr std::size_t tree_other_scratch(const HiddenTree& tree) {
  return (3 * tree.M + 1) * tree.K;
}
BM_HD constexpr std::size_t tree_draw_scratch(const HiddenTree& tree) {
  return (tree.M + 2) * tree.K + tree.M;
}

// The tables of a tree in memory that `memory` owns.
HiddenTree upload_tree(Memory& memory, const HiddenTree& host);

// out[b] = log of the weight of all states of row b. scratch [rows,tree_sum_scratch].
void launch_sum_states(const HiddenTree& tree, const std::int32_t* x, std::size_t rows,
                       double* scratch, double* out, cudaStream_t stream);

// others[b,d,k]: the states of row b with k at the node of d, without their emission at d.
// scratch [rows,tree_other_scratch].
void launch_sum_other_states(const HiddenTree& tree, const std::int32_t* x, std::size_t rows,
                             double* scratch, double* others, cudaStream_t stream);

// states[b,i] of every node i, by the first M draws of index first_index + b.
// scratch [rows,tree_draw_scratch].
void launch_draw_states(const HiddenTree& tree, const std::int32_t* x, const DrawKey& key,
                        std::uint64_t first_index, std::size_t rows, double* scratch,
                        std::int32_t* states, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
