#include "bridgemark/bridge/tree_potential.h"

#include <algorithm>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/bridge/cp_potential.h"
#include "bridgemark/bridge/potential_checks.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/hidden_tree.h"

namespace bridgemark {

namespace {

// [D,K]: each core by what reduce(values, count, stride) makes of its categories.
template <typename Reduce>
Matrix<double> reduced_cores(const Array3<double>& log_cores, Reduce&& reduce) {
  Matrix<double> reduced(log_cores.extent(0), log_cores.extent(2));
  for (std::size_t d = 0; d < reduced.rows(); ++d) {
    for (std::size_t k = 0; k < reduced.cols(); ++k) {
      reduced(d, k) = reduce(log_cores.row(d, 0) + k, log_cores.extent(1), reduced.cols());
    }
  }
  return reduced;
}

double largest(const double* values, std::size_t count, std::size_t stride) {
  double high = kLogZero;
  for (std::size_t i = 0; i < count; ++i) high = std::max(high, values[i * stride]);
  return high;
}

// The weight of the states of all nodes, each with one emission for each coordinate, [D,K].
double log_weight_of_states(const TreeShape& shape, const std::vector<double>& log_root,
                            const Array3<double>& log_moves, const Matrix<double>& log_emission) {
  const std::size_t D = log_emission.rows(), K = log_emission.cols();
  const HiddenTree tree =
      log_hidden_tree(D, 1, K, shape.num_nodes(), shape.parent().data(), shape.node_of().data(),
                      log_root.data(), log_moves.data(), log_emission.data());
  const std::vector<std::int32_t> zeros(D);
  std::vector<double> scratch((tree.M + 1) * K);
  return log_all_states(tree, zeros.data(), scratch.data());
}

}  // namespace

TreePotential::TreePotential(TreeShape shape, std::vector<double> log_root,
                             Array3<double> log_moves, Array3<double> log_cores)
    : shape_(std::move(shape)),
      log_root_(std::move(log_root)),
      log_moves_(std::move(log_moves)),
      log_cores_(std::move(log_cores)) {
  const std::size_t K = log_cores_.extent(2), edges = shape_.num_nodes() - 1;
  check_potential_shape("log_root", log_root_.size(), log_cores_);
  if (shape_.dim() != dim()) {
    throw_invalid("potential", "the tree must have {} coordinates like log_cores, got {}", dim(),
                  shape_.dim());
  }
  if (log_moves_.extent(0) != edges ||
      (edges > 0 && (log_moves_.extent(1) != K || log_moves_.extent(2) != K))) {
    throw_invalid("potential", "log_moves must have shape [{}, {}, {}], got [{}, {}, {}]", edges, K,
                  K, log_moves_.extent(0), log_moves_.extent(1), log_moves_.extent(2));
  }
  check_logarithms("log_root", log_root_);
  check_logarithms("log_moves", log_moves_);
  check_logarithms("log_cores", log_cores_);
  // With each core at its largest category the weight is 0 only where v is 0 everywhere.
  const Matrix<double> high = reduced_cores(log_cores_, largest);
  if (log_weight_of_states(shape_, log_root_, log_moves_, high) == kLogZero) {
    throw_invalid("potential", "the potential must be positive somewhere, got 0");
  }
}

void TreePotential::log_value(const Context& context, StatesView x, std::span<double> out) const {
  check_states("x", x, dim(), num_categories());
  backend::of(context).log_tree(context, shape_, log_root_, log_moves_, log_cores_, x, out);
}

double TreePotential::log_total() const {
  return log_weight_of_states(shape_, log_root_, log_moves_, reduced_cores(log_cores_, log_sum));
}

void check_product(const TreePotential& a, const TreePotential& b) {
  if (a.dim() != b.dim() || a.num_categories() != b.num_categories()) {
    throw_invalid("potential", "both factors must live on one space, got {}^{} and {}^{}",
                  a.num_categories(), a.dim(), b.num_categories(), b.dim());
  }
  if (a.shape() != b.shape()) {
    throw_invalid("potential",
                  "both factors must have one tree, got trees of {} and {} nodes that differ",
                  a.shape().num_nodes(), b.shape().num_nodes());
  }
  const std::size_t D = a.dim(), S = a.log_cores().extent(1), J = a.num_components(),
                    K = b.num_components(), edges = a.log_moves().extent(0), states = J * K;
  if (states > kMaxProductEntries / (D * S) ||
      (edges > 0 && states > kMaxProductEntries / edges / states)) {
    throw_invalid("potential",
                  "a product of trees may have at most {} numbers in its cores and in its moves, "
                  "got {} x {} states on {} coordinates of {} categories and {} nodes",
                  kMaxProductEntries, J, K, D, S, edges + 1);
  }
}

TreePotential product(const TreePotential& a, const TreePotential& b) {
  check_product(a, b);
  const std::size_t D = a.dim(), S = a.log_cores().extent(1), J = a.num_components(),
                    K = b.num_components(), edges = a.log_moves().extent(0), states = J * K;
  // Every table of the product: entry (j K + k) of a row is the sum of a's j and b's k.
  const auto fill = [&](const double* of_a, const double* of_b, double* out) {
    for (std::size_t j = 0; j < J; ++j) {
      for (std::size_t k = 0; k < K; ++k) out[j * K + k] = of_a[j] + of_b[k];
    }
  };
  std::vector<double> log_root(states);
  fill(a.log_root().data(), b.log_root().data(), log_root.data());
  Array3<double> log_moves(edges, edges > 0 ? states : 0, edges > 0 ? states : 0);
  for (std::size_t i = 0; i < edges; ++i) {
    for (std::size_t j = 0; j < J; ++j) {
      for (std::size_t k = 0; k < K; ++k) {
        fill(a.log_moves().row(i, j), b.log_moves().row(i, k), log_moves.row(i, j * K + k));
      }
    }
  }
  Array3<double> log_cores(D, S, states);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      fill(a.log_cores().row(d, s), b.log_cores().row(d, s), log_cores.row(d, s));
    }
  }
  return {a.shape(), std::move(log_root), std::move(log_moves), std::move(log_cores)};
}

TreePotential scaled(const TreePotential& potential, std::span<const double> log_factors) {
  return {potential.shape(), potential.log_root(), potential.log_moves(),
          scaled_cores(potential.log_cores(), log_factors)};
}

TreePotential as_law(const TreePotential& potential) {
  const TreeShape& shape = potential.shape();
  std::vector<double> log_root = potential.log_root();
  Array3<double> log_moves = potential.log_moves(), log_cores = potential.log_cores();
  const std::size_t D = log_cores.extent(0), S = log_cores.extent(1), K = log_root.size();
  Matrix<double> below(shape.num_nodes(), K);  // log of the weight of a node's subtree
  const Matrix<double> totals = reduced_cores(log_cores, log_sum);
  for (std::size_t d = 0; d < D; ++d) {
    double* const node = below.row(static_cast<std::size_t>(shape.node_of()[d]));
    for (std::size_t k = 0; k < K; ++k) {
      node[k] += totals(d, k);
      if (totals(d, k) == kLogZero) continue;
      for (std::size_t s = 0; s < S; ++s) log_cores(d, s, k) -= totals(d, k);
    }
  }
  for (std::size_t i = shape.num_nodes() - 1; i > 0; --i) {
    double* const parent = below.row(static_cast<std::size_t>(shape.parent()[i]));
    for (std::size_t from = 0; from < K; ++from) {
      double* const row = log_moves.row(i - 1, from);
      for (std::size_t to = 0; to < K; ++to) row[to] += below(i, to);
      parent[from] += log_sum(row, K);
      log_normalize(row, K);
    }
  }
  for (std::size_t k = 0; k < K; ++k) log_root[k] += below(0, k);
  log_normalize(log_root.data(), K);
  return {shape, std::move(log_root), std::move(log_moves), std::move(log_cores)};
}

}  // namespace bridgemark
