#include <algorithm>
#include <memory>

#include "bridgemark/backend/cuda/bridge/bridge_tables.h"
#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/placed.h"
#include "bridgemark/backend/cuda/runtime/stream.h"
#include "bridgemark/backend/cuda/tree/tree_states.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/exact_log_dot.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/log_rows.h"

namespace bridgemark::backend::cuda {

namespace {

// Rows of one launch, so that a scratch of `entries` doubles a row stays within 512 MiB.
std::size_t rows_per_launch(std::size_t entries) {
  return std::max<std::size_t>(1, (std::size_t{1} << 26) / std::max<std::size_t>(entries, 1));
}

// Entries of a table of sums that draws search: 64 MiB.
constexpr std::size_t kMaxDrawTable = std::size_t{1} << 23;

// weights[b,k] = log_beta[k] + sum_d log_u[d, x[b,d], k], added in the order of the CPU.
__global__ void component_weights(const double* log_beta, const double* log_u,
                                  const std::int32_t* x, std::size_t rows, std::size_t D,
                                  std::size_t S, std::size_t K, double* weights) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= rows * K) return;
  const std::size_t b = i / K, k = i % K;
  double sum = log_beta[k];
  for (std::size_t d = 0; d < D; ++d) sum += log_u[(d * S + x[b * D + d]) * K + k];
  weights[i] = sum;
}

__global__ void sum_components(const double* weights, std::size_t rows, std::size_t K,
                               double* out) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b < rows) out[b] = log_sum(weights + b * K, K);
}

__global__ void draw_components(double* weights, DrawKey key, std::uint64_t first_index,
                                std::size_t rows, std::size_t K, std::int32_t* components) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  double* row = weights + b * K;
  cumulate_log(row, K, row);
  components[b] =
      static_cast<std::int32_t>(draw_category(row, K, draw_uniform(key, first_index + b, 0)));
}

// One thread a row of each of these.

__global__ void sum_paths(HiddenChain chain, const std::int32_t* x, std::size_t rows,
                          double* scratch, double* out) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b < rows) out[b] = log_all_paths(chain, x + b * chain.D, scratch + b * 2 * chain.K);
}

// others[b,d,k]: the paths of row b that have z_d = k, without their weight at d.
__global__ void sum_other_paths(HiddenChain chain, const std::int32_t* x, std::size_t rows,
                                double* scratch, double* others) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  const std::size_t entries = chain.D * chain.K;
  log_other_paths(chain, x + b * chain.D, others + b * entries, scratch + b * entries);
}

__global__ void draw_paths(HiddenChain chain, const std::int32_t* x, DrawKey key,
                           std::uint64_t first_index, std::size_t rows, double* scratch,
                           std::int32_t* paths) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  draw_path(
      chain, x + b * chain.D, [&](std::size_t d) { return draw_uniform(key, first_index + b, d); },
      paths + b * chain.D, scratch + b * (chain.D + 1) * chain.K);
}

// What the coordinates of a step are drawn with.
struct CoordinateTables {
  const double *q, *log_q, *to, *log_to, *cumulative;  // cumulative may be null
  std::size_t hidden;           // components of a row, drawn first: 1, D of a chain, M of a tree
  const std::int32_t* node_of;  // [D] of a tree, else null
};

__global__ void draw_coordinates(CoordinateTables step, const std::int32_t* x,
                                 const std::int32_t* components, DrawKey key,
                                 std::uint64_t first_index, std::size_t rows, std::size_t D,
                                 std::size_t S, std::size_t K, std::int32_t* out) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= rows * D) return;
  const std::size_t b = i / D, d = i % D;
  const auto s = static_cast<std::size_t>(x[i]);
  const std::size_t own = step.node_of ? step.node_of[d] : step.hidden > 1 ? d : 0;
  const std::size_t component = d * K + static_cast<std::size_t>(components[b * step.hidden + own]);
  const double uniform = draw_uniform(key, first_index + b, step.hidden + d);
  out[i] = static_cast<std::int32_t>(
      step.cumulative ? draw_category(step.cumulative + (component * S + s) * S, S, uniform)
                      : draw_product(step.q + s * S, step.to + component * S, step.log_q + s * S,
                                     step.log_to + component * S, S, uniform));
}

// The two factors of draws of s with weight left[l,s] right[r,s].
struct ProductTables {
  const double *left, *log_left, *right, *log_right;  // [rows,S] each
  const double* cumulative;  // [rows of left, rows of right, S]; null: sums are made for each draw
  std::size_t right_count;   // rows of right
};

// Of each pair of rows the sums that its draws search; a thread a pair.
__global__ void cumulate_products(ProductTables tables, std::size_t left_count, std::size_t S,
                                  double* cumulative) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= left_count * tables.right_count) return;
  const std::size_t l = i / tables.right_count * S, r = i % tables.right_count * S;
  cumulate_product(tables.left + l, tables.right + r, tables.log_left + l, tables.log_right + r, S,
                   cumulative + i * S);
}

__global__ void draw_products(ProductTables tables, const std::int32_t* left_rows,
                              const std::int32_t* right_rows, DrawKey key,
                              std::uint64_t first_index, std::size_t rows, std::size_t D,
                              std::size_t S, std::int32_t* out) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= rows * D) return;
  const std::size_t left = left_rows[i], right = right_rows[i], l = left * S, r = right * S;
  const double uniform = draw_uniform(key, first_index + i / D, i % D);
  out[i] = static_cast<std::int32_t>(
      tables.cumulative != nullptr
          ? draw_category(tables.cumulative + (left * tables.right_count + right) * S, S, uniform)
          : draw_product(tables.left + l, tables.right + r, tables.log_left + l,
                         tables.log_right + r, S, uniform));
}

// others[b,d,k] = log_beta[k] + the sum over j != d, added up from both sides.
__global__ void sum_others(const double* log_beta, const double* log_from, const std::int32_t* x,
                           std::size_t rows, std::size_t D, std::size_t S, std::size_t K,
                           double* others) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= rows * K) return;
  const std::size_t b = i / K, k = i % K;
  double running = log_beta[k];
  for (std::size_t d = 0; d < D; ++d) {
    others[(b * D + d) * K + k] = running;
    running += log_from[(d * S + x[b * D + d]) * K + k];
  }
  running = 0.0;
  for (std::size_t d = D; d-- > 0;) {
    others[(b * D + d) * K + k] += running;
    running += log_from[(d * S + x[b * D + d]) * K + k];
  }
}

// out[b,d,s] = log_q[x,s] + log sum_k exp(others[b,d,k] + log_to[d*K + k, s]), not yet normalised.
__global__ void mix_components(const double* others, const double* log_to, const double* log_q,
                               const std::int32_t* x, std::size_t rows, std::size_t D,
                               std::size_t S, std::size_t K, double* out) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= rows * D * S) return;
  const std::size_t s = i % S, row = i / S, d = row % D;
  const double* other = others + row * K;
  const double* to = log_to + d * K * S + s;
  out[i] = log_q[x[row] * S + s] + exact_log_dot(other, to, S, K);
}

// out[b] = log q(to[b] | from[b]) out of the sums over components before and after, which out has.
__global__ void join_ends(const double* log_q, const std::int32_t* from, const std::int32_t* to,
                          const double* log_before, std::size_t rows, std::size_t D, std::size_t S,
                          double* out) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  out[b] += log_of_rows(log_q, S, from + b * D, to + b * D, D) - log_before[b];
}

__global__ void normalize_rows(double* values, std::size_t rows, std::size_t count) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i < rows) log_normalize(values + i * count, count);
}

// Calls run(first, rows) for parts of so many rows.
template <typename Run>
void in_parts(std::size_t rows, std::size_t part, Run&& run) {
  for (std::size_t first = 0; first < rows; first += part) {
    run(first, std::min(part, rows - first));
  }
}

// Doubles of scratch that sum_weights takes for a row.
std::size_t sum_scratch(const BridgeTables& tables) {
  if (tables.is_tree) return tree_sum_scratch(tables.tree);
  return tables.is_chain ? 2 * tables.num_components : tables.num_components;
}

// The sums over components, paths of a chain or states of a tree, before a step or after it.
void sum_weights(const BridgeTables& tables, bool after, const std::int32_t* x, std::size_t rows,
                 double* scratch, double* out, cudaStream_t stream) {
  const std::size_t D = tables.dim, S = tables.num_categories, K = tables.num_components;
  if (tables.is_tree) {
    launch_sum_states(after ? tables.tree_after : tables.tree, x, rows, scratch, out, stream);
    return;
  }
  if (tables.is_chain) {
    sum_paths<<<blocks_for(rows), kThreads, 0, stream>>>(after ? tables.chain_after : tables.chain,
                                                         x, rows, scratch, out);
    return;
  }
  component_weights<<<blocks_for(rows * K), kThreads, 0, stream>>>(
      tables.log_beta, after ? tables.log_after : tables.log_from, x, rows, D, S, K, scratch);
  sum_components<<<blocks_for(rows), kThreads, 0, stream>>>(scratch, rows, K, out);
}

}  // namespace

void CudaBackend::log_mixture(const Context&, std::span<const double> log_beta,
                              const Array3<double>& log_u, StatesView x,
                              std::span<double> out) const {
  const std::size_t D = log_u.extent(0), S = log_u.extent(1), K = log_u.extent(2);
  const Buffer<double> beta(log_beta.data(), K), u(log_u.data(), log_u.size());
  const std::size_t part = std::min(rows_per_launch(K), x.rows);
  Buffer<double> weights(part * K);
  in_parts(x.rows, part, [&](std::size_t first, std::size_t rows) {
    const Buffer<std::int32_t> states(x.row(first), rows * D);
    Buffer<double> result(rows);
    component_weights<<<blocks_for(rows * K), kThreads>>>(beta.get(), u.get(), states.get(), rows,
                                                          D, S, K, weights.get());
    sum_components<<<blocks_for(rows), kThreads>>>(weights.get(), rows, K, result.get());
    BM_CUDA_CHECK(cudaGetLastError());
    result.copy_to(out.data() + first);
  });
}

void CudaBackend::log_chain(const Context&, std::span<const double> log_start,
                            const Array3<double>& log_moves, const Array3<double>& log_u,
                            StatesView x, std::span<double> out) const {
  const std::size_t D = log_u.extent(0), S = log_u.extent(1), K = log_u.extent(2);
  const Buffer<double> start(log_start.data(), log_start.size()),
      moves(log_moves.data(), log_moves.size()), emission(log_u.data(), log_u.size());
  const HiddenChain chain = log_hidden_chain(D, S, K, start.get(), moves.get(), emission.get());
  const std::size_t part = std::min(rows_per_launch(2 * K), x.rows);
  Buffer<double> scratch(part * 2 * K);
  in_parts(x.rows, part, [&](std::size_t first, std::size_t rows) {
    const Buffer<std::int32_t> states(x.row(first), rows * D);
    Buffer<double> result(rows);
    sum_paths<<<blocks_for(rows), kThreads>>>(chain, states.get(), rows, scratch.get(),
                                              result.get());
    BM_CUDA_CHECK(cudaGetLastError());
    result.copy_to(out.data() + first);
  });
}

void CudaBackend::log_tree(const Context&, const TreeShape& shape, std::span<const double> log_root,
                           const Array3<double>& log_moves, const Array3<double>& log_u,
                           StatesView x, std::span<double> out) const {
  const std::size_t D = log_u.extent(0), S = log_u.extent(1), K = log_u.extent(2);
  Memory memory;
  const HiddenTree tree = log_hidden_tree(
      D, S, K, shape.num_nodes(), memory.upload(shape.parent()), memory.upload(shape.node_of()),
      memory.upload(log_root.data(), K), memory.upload(log_moves.data(), log_moves.size()),
      memory.upload(log_u.data(), log_u.size()));
  const std::size_t of_row = tree_sum_scratch(tree),
                    part = std::min(rows_per_launch(of_row), x.rows);
  Buffer<double> scratch(part * of_row);
  in_parts(x.rows, part, [&](std::size_t first, std::size_t rows) {
    const Buffer<std::int32_t> states(x.row(first), rows * D);
    Buffer<double> result(rows);
    launch_sum_states(tree, states.get(), rows, scratch.get(), result.get(), nullptr);
    result.copy_to(out.data() + first);
  });
}

void CudaBackend::bridge_step_marginals(const Context& context, const BridgeStep& step,
                                        StatesView x, MatrixView<double> out) const {
  const auto stream = stream_of(context);
  const std::shared_ptr<const BridgeTables> tables = tables_of(step);
  const std::size_t D = step.dim, S = step.num_categories, K = step.num_components;
  const std::size_t of_row = tables->is_tree    ? tree_other_scratch(tables->tree)
                             : tables->is_chain ? D * K
                                                : 0;
  const std::size_t part = std::min(rows_per_launch(of_row + D * (K + S)), x.rows);
  const Scratch<double> others(part * D * K, stream), scratch(part * of_row, stream);
  in_parts(x.rows, part, [&](std::size_t first, std::size_t rows) {
    const Input<std::int32_t> states(x.row(first), rows * D, x.on_device, stream);
    Output<double> marginals(out.row(first), rows * D * S, x.on_device, stream);
    if (tables->is_tree) {
      launch_sum_other_states(tables->tree, states.get(), rows, scratch.get(), others.get(),
                              stream);
    } else if (tables->is_chain) {
      sum_other_paths<<<blocks_for(rows), kThreads, 0, stream>>>(tables->chain, states.get(), rows,
                                                                 scratch.get(), others.get());
    } else {
      sum_others<<<blocks_for(rows * K), kThreads, 0, stream>>>(
          tables->log_beta, tables->log_from, states.get(), rows, D, S, K, others.get());
    }
    mix_components<<<blocks_for(rows * D * S), kThreads, 0, stream>>>(
        others.get(), tables->log_to, tables->log_q, states.get(), rows, D, S, K, marginals.get());
    normalize_rows<<<blocks_for(rows * D), kThreads, 0, stream>>>(marginals.get(), rows * D, S);
    BM_CUDA_CHECK(cudaGetLastError());
    marginals.finish();
  });
}

void CudaBackend::bridge_step_log_probability(const Context& context, const BridgeStep& step,
                                              StatesView from, StatesView to, double* out) const {
  const auto stream = stream_of(context);
  const std::shared_ptr<const BridgeTables> tables = tables_of(step);
  const std::size_t D = step.dim, S = step.num_categories;
  const std::size_t of_row = sum_scratch(*tables);
  const std::size_t part = std::min(rows_per_launch(of_row), from.rows);
  const Scratch<double> scratch(part * of_row, stream), before(part, stream);
  in_parts(from.rows, part, [&](std::size_t first, std::size_t rows) {
    const Input<std::int32_t> x(from.row(first), rows * D, from.on_device, stream),
        y(to.row(first), rows * D, to.on_device, stream);
    Output<double> result(out + first, rows, from.on_device, stream);
    sum_weights(*tables, false, x.get(), rows, scratch.get(), before.get(), stream);
    sum_weights(*tables, true, y.get(), rows, scratch.get(), result.get(), stream);
    join_ends<<<blocks_for(rows), kThreads, 0, stream>>>(tables->log_q, x.get(), y.get(),
                                                         before.get(), rows, D, S, result.get());
    BM_CUDA_CHECK(cudaGetLastError());
    result.finish();
  });
}

void CudaBackend::sample_bridge_step(const Context& context, const BridgeStep& step, StatesView x,
                                     const DrawKey& key, std::uint64_t first_index,
                                     MutableStatesView out) const {
  const auto stream = stream_of(context);
  const std::shared_ptr<const BridgeTables> tables = tables_of(step);
  const std::size_t D = step.dim, S = step.num_categories, K = step.num_components;
  const bool chain = tables->is_chain, tree = tables->is_tree;
  const std::size_t hidden = tree ? tables->tree.M : chain ? D : 1;
  const CoordinateTables coordinates{tables->q,           tables->log_q,      tables->to,
                                     tables->log_to,      tables->cumulative, hidden,
                                     tables->tree.node_of};
  const std::size_t of_row = tree ? tree_draw_scratch(tables->tree) : chain ? (D + 1) * K : K;
  const std::size_t part = std::min(rows_per_launch(of_row + hidden + D), x.rows);
  const Scratch<double> weights(part * of_row, stream);
  const Scratch<std::int32_t> components(part * hidden, stream);
  in_parts(x.rows, part, [&](std::size_t first, std::size_t rows) {
    const Input<std::int32_t> states(x.row(first), rows * D, x.on_device, stream);
    Output<std::int32_t> drawn(out.row(first), rows * D, out.on_device, stream);
    if (tree) {
      launch_draw_states(tables->tree, states.get(), key, first_index + first, rows, weights.get(),
                         components.get(), stream);
    } else if (chain) {
      draw_paths<<<blocks_for(rows), kThreads, 0, stream>>>(tables->chain, states.get(), key,
                                                            first_index + first, rows,
                                                            weights.get(), components.get());
    } else {
      component_weights<<<blocks_for(rows * K), kThreads, 0, stream>>>(
          tables->log_beta, tables->log_from, states.get(), rows, D, S, K, weights.get());
      draw_components<<<blocks_for(rows), kThreads, 0, stream>>>(
          weights.get(), key, first_index + first, rows, K, components.get());
    }
    draw_coordinates<<<blocks_for(rows * D), kThreads, 0, stream>>>(
        coordinates, states.get(), components.get(), key, first_index + first, rows, D, S, K,
        drawn.get());
    BM_CUDA_CHECK(cudaGetLastError());
    drawn.finish();
  });
}

void CudaBackend::sample_product_rows(const Context& context, const ScaledRows& left,
                                      const ScaledRows& right, StatesView left_rows,
                                      StatesView right_rows, const DrawKey& key,
                                      std::uint64_t first_index, MutableStatesView out) const {
  const auto stream = stream_of(context);
  const std::size_t D = out.cols, S = left.cols();
  if (out.size() == 0) return;
  const auto upload = [&](const Matrix<double>& table) {
    return Input<double>(table.data(), table.size(), false, stream);
  };
  const Input<double> a = upload(left.linear), log_a = upload(left.log), b = upload(right.linear),
                      log_b = upload(right.log);
  const Input<std::int32_t> i(left_rows.data, left_rows.size(), left_rows.on_device, stream),
      j(right_rows.data, right_rows.size(), right_rows.on_device, stream);
  Output<std::int32_t> drawn(out.data, out.size(), out.on_device, stream);
  const std::size_t pairs = left.rows() * right.rows();
  const bool by_table = pairs <= out.size() && pairs * S <= kMaxDrawTable;
  const Scratch<double> cumulative(by_table ? pairs * S : 0, stream);
  const ProductTables tables{a.get(),     log_a.get(),      b.get(),
                             log_b.get(), cumulative.get(), right.rows()};
  if (by_table) {
    cumulate_products<<<blocks_for(pairs), kThreads, 0, stream>>>(tables, left.rows(), S,
                                                                  cumulative.get());
  }
  draw_products<<<blocks_for(out.size()), kThreads, 0, stream>>>(
      tables, i.get(), j.get(), key, first_index, out.rows, D, S, drawn.get());
  BM_CUDA_CHECK(cudaGetLastError());
  drawn.finish();
}

}  // namespace bridgemark::backend::cuda
