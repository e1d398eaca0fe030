#include "bridgemark/bridge/tree_potential.h"

#include <algorithm>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/bridge/potential_checks.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/hidden_tree.h"

namespace bridgemark {

namespace {

// The weight of all states with each core at its largest category: 0 only where v is 0 everywhere.
double log_largest_of_tree(const TreeShape& shape, const std::vector<double>& log_root,
                           const Array3<double>& log_moves, const Array3<double>& log_cores) {
  const std::size_t D = log_cores.extent(0), S = log_cores.extent(1), K = log_root.size();
  Matrix<double> high(D, K, kLogZero);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      for (std::size_t k = 0; k < K; ++k) high(d, k) = std::max(high(d, k), log_cores(d, s, k));
    }
  }
  const HiddenTree tree =
      log_hidden_tree(D, 1, K, shape.num_nodes(), shape.parent().data(), shape.node_of().data(),
                      log_root.data(), log_moves.data(), high.data());
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
  if (log_largest_of_tree(shape_, log_root_, log_moves_, log_cores_) == kLogZero) {
    throw_invalid("potential", "the potential must be positive somewhere, got 0");
  }
}

void TreePotential::log_value(const Context& context, StatesView x, std::span<double> out) const {
  check_states("x", x, dim(), num_categories());
  backend::of(context).log_tree(context, shape_, log_root_, log_moves_, log_cores_, x, out);
}

}  // namespace bridgemark
