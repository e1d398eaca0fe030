#pragma once

#include "bridgemark/backend/cuda/bridge/device_source.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/philox.h"

// Rows of a source drawn by a block, with the draws that the CPU makes for the same index.
namespace bridgemark::backend::cuda {

// A row of a hidden tree: one thread draws the states of its nodes.
__device__ inline void draw_tree_row(const RowSourceView& source, std::uint64_t index, int b, int D,
                                     int S, std::int32_t* row) {
  const TreeRowsView& tree = source.tree_rows;
  const int K = tree.num_states;
  std::int32_t* z = source.hidden + static_cast<std::size_t>(b) * source.hidden_of_row;
  if (threadIdx.x == 0) {
    for (int i = 0; i < tree.num_nodes; ++i) {
      const double* sums =
          i == 0 ? tree.root
                 : tree.moves + (static_cast<std::size_t>(i - 1) * K + z[tree.parent[i]]) * K;
      z[i] = static_cast<std::int32_t>(draw_category(sums, K, draw_uniform(source.key, index, i)));
    }
  }
  __syncthreads();
  for (int d = threadIdx.x; d < D; d += blockDim.x) {
    const double* sums = tree.cores + (static_cast<std::size_t>(d) * K + z[tree.node_of[d]]) * S;
    row[d] = static_cast<std::int32_t>(
        draw_category(sums, S, draw_uniform(source.key, index, tree.num_nodes + d)));
  }
  __syncthreads();
}

// Row b of those drawn at once, of this index of the source.
__device__ inline void draw_source(const RowSourceView& source, std::uint64_t index, int b, int D,
                                   int S, std::int32_t* row) {
  if (source.tree_rows.num_nodes > 0) return draw_tree_row(source, index, b, D, S, row);
  if (source.cumulative != nullptr) {
    // With components the first draw is for them.
    const int before = source.components != nullptr ? 1 : 0;
    const std::size_t component =
        before == 0 ? 0
                    : draw_category(source.components, source.num_source_components,
                                    draw_uniform(source.key, index, 0));
    const double* cumulative = source.cumulative + component * D * S;
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
      row[d] =
          static_cast<std::int32_t>(draw_category(cumulative + static_cast<std::size_t>(d) * S, S,
                                                  draw_uniform(source.key, index, d + before)));
    }
  } else {
    const double position =
        draw_uniform(source.key, index, 0) * static_cast<double>(source.num_observed);
    auto chosen = static_cast<unsigned long long>(position);
    if (chosen >= source.num_observed) chosen = source.num_observed - 1;
    for (int d = threadIdx.x; d < D; d += blockDim.x) row[d] = source.observed[chosen * D + d];
  }
  __syncthreads();
}

// Coordinate d of a step, from category s by component k.
__device__ inline std::int32_t draw_coordinate(const RowSourceView& source, std::size_t s, int d,
                                               int k, int S, double uniform) {
  const std::size_t r = static_cast<std::size_t>(d) * source.num_components + k;
  return static_cast<std::int32_t>(
      source.step_cumulative != nullptr
          ? draw_category(source.step_cumulative + (r * S + s) * S, S, uniform)
          : draw_product(source.q + s * S, source.to + r * S, source.log_q + s * S,
                         source.log_to + r * S, S, uniform));
}

// The same for a step with a hidden chain, whose path one thread draws.
__device__ inline void draw_chain_step(const RowSourceView& source, std::uint64_t index, int b,
                                       int D, int S, std::int32_t* row) {
  std::int32_t* path = source.hidden + static_cast<std::size_t>(b) * source.hidden_of_row;
  if (threadIdx.x == 0) {
    draw_path(
        source.chain, row, [&](std::size_t d) { return draw_uniform(source.step_key, index, d); },
        path, source.weights + static_cast<std::size_t>(b) * (D + 1) * source.num_components);
  }
  __syncthreads();
  for (int d = threadIdx.x; d < D; d += blockDim.x) {
    row[d] =
        draw_coordinate(source, row[d], d, path[d], S, draw_uniform(source.step_key, index, D + d));
  }
  __syncthreads();
}

// The same for a step with a hidden tree, the states of whose nodes one thread draws.
__device__ inline void draw_tree_step(const RowSourceView& source, std::uint64_t index, int b,
                                      int D, int S, std::int32_t* row) {
  const HiddenTree& tree = source.tree;
  std::int32_t* z = source.hidden + static_cast<std::size_t>(b) * source.hidden_of_row;
  if (threadIdx.x == 0) {
    draw_states(
        tree, row, [&](std::size_t i) { return draw_uniform(source.step_key, index, i); }, z,
        source.weights + static_cast<std::size_t>(b) * tree_draw_scratch(tree));
  }
  __syncthreads();
  for (int d = threadIdx.x; d < D; d += blockDim.x) {
    row[d] = draw_coordinate(source, row[d], d, z[tree.node_of[d]], S,
                             draw_uniform(source.step_key, index, tree.M + d));
  }
  __syncthreads();
}

// row becomes a draw of the source's step from row.
__device__ inline void draw_step(const RowSourceView& source, std::uint64_t index, int b, int D,
                                 int S, std::int32_t* row) {
  __shared__ int component;
  const int K = source.num_components;
  if (source.is_tree) return draw_tree_step(source, index, b, D, S, row);
  if (source.is_chain) return draw_chain_step(source, index, b, D, S, row);
  double* weights = source.weights + static_cast<std::size_t>(b) * K;
  for (int k = threadIdx.x; k < K; k += blockDim.x) {
    double sum = source.log_beta[k];
    for (int d = 0; d < D; ++d) {
      sum += source.log_from[(static_cast<std::size_t>(d) * S + row[d]) * K + k];
    }
    weights[k] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    cumulate_log(weights, K, weights);
    component =
        static_cast<int>(draw_category(weights, K, draw_uniform(source.step_key, index, 0)));
  }
  __syncthreads();
  for (int d = threadIdx.x; d < D; d += blockDim.x) {
    row[d] = draw_coordinate(source, row[d], d, component, S,
                             draw_uniform(source.step_key, index, d + 1));
  }
  __syncthreads();
}

}  // namespace bridgemark::backend::cuda
