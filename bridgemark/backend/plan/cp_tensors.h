#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "bridgemark/backend/plan/factored_power.h"
#include "bridgemark/core/large_array.h"
#include "bridgemark/core/tree_shape.h"
#include "bridgemark/math/matching_terms.h"
#include "bridgemark/math/pinned_step.h"

// What the losses of CP, chain and tree potentials are given and keep. T is float for training and
// double for checks.
namespace bridgemark::backend {

// Parameters or a gradient of a CP potential: log_beta [K], log_cores [D,S,K]; or of a chain
// or tree potential, whose start or root log_beta is, and which has moves.
template <typename T>
struct CpTensors {
  std::size_t dim = 0;
  std::size_t num_categories = 0;
  std::size_t num_components = 0;
  std::vector<T> log_beta;
  LargeArray<T> log_cores;
  bool is_chain = false;
  LargeArray<T> log_moves;                // [D-1,K,K] of a chain, [M-1,K,K] of a tree
  std::shared_ptr<const TreeShape> tree;  // null: a path, where it has moves

  CpTensors() = default;
  CpTensors(std::size_t D, std::size_t S, std::size_t K, bool chain = false,
            std::shared_ptr<const TreeShape> shape = nullptr)
      : dim(D),
        num_categories(S),
        num_components(K),
        log_beta(K),
        log_cores(D * S * K),
        is_chain(chain),
        log_moves(chain ? ((shape ? shape->num_nodes() : D) - 1) * K * K : 0),
        tree(std::move(shape)) {}
};

// The powers of a chain's one-step matrix, n = 0..num_steps, as training kernels want them: linear
// in T beside the logarithms for the exact path, [num_steps+1][S,S] with row x_from.
template <typename T>
struct ChainTables {
  std::size_t num_categories = 0;
  int num_steps = 0;
  std::vector<T> linear;
  std::vector<double> log;
  // Q = identity I + uniform 11^T for the whole chain, where that holds; else identity < 0.
  T identity = T(-1);
  T uniform = T(0);
  // The whole chain by its factors, where it has some: Q = stay I + left right. A chain that has
  // nothing else, for its tables would be too large, has no matching loss.
  std::shared_ptr<const FactoredPower> factors;
  T stay = T(0);
  std::vector<T> left;          // [S,r]
  std::vector<T> right;         // [r,S], each row scaled to a maximum of 1
  std::vector<T> step_weights;  // what a row at step n counts in a matching loss; empty: 1

  T step_weight(int n) const {
    return step_weights.empty() ? T(1) : step_weights[static_cast<std::size_t>(n)];
  }

  bool has_tables() const { return !log.empty(); }
  const T* linear_power(int n) const { return linear.data() + offset(n); }
  const double* log_power(int n) const { return log.data() + offset(n); }

  // The step from x to `end` of which steps_left are left.
  PinnedStep<T> pinned(int steps_left, std::size_t x, std::size_t end) const {
    return pinned_step(linear.data(), num_categories, steps_left, x, end);
  }
  PinnedStep<double> log_pinned(int steps_left, std::size_t x, std::size_t end) const {
    return pinned_step(log.data(), num_categories, steps_left, x, end);
  }

 private:
  std::size_t offset(int n) const {
    return static_cast<std::size_t>(n) * num_categories * num_categories;
  }
};

// Buffers that a loss keeps between calls; any loss may use any of them.
template <typename T>
struct CpWorkspace {
  LargeArray<T> scaled, product, log_product, high;
  LargeArray<T> weights0, weights1, partial;
  LargeArray<T> inverse, mantissas;
  LargeArray<std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>> exponents;
  LargeArray<T> source_by_row, source_by_category, mixed, back_by_row, back_by_category;
};

using bridgemark::MatchingLoss;

}  // namespace bridgemark::backend
