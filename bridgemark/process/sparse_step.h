#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bridgemark/backend/plan/factored_power.h"
#include "bridgemark/backend/plan/sparse_power.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/given_reference.h"

namespace bridgemark {

// An elementary step that leads from each category to few others. Its powers are sums and products
// of numbers that are not negative, in the log domain; what n steps cannot reach is 0.
class SparseStep {
 public:
  // One up or one down with gamma / 2 each; a step that would leave 0..S-1 stays where it is.
  // gamma in (0, 1).
  static SparseStep birth_death(int num_categories, double gamma);

  // To the mask, the last category, with gamma, and nowhere from there. gamma in (0, 1).
  static SparseStep absorbing(int num_categories, double gamma);

  // From x to y with gamma W[x,y] / c, where c is the largest row sum of W; what is left of a row
  // stays. Row sums within 1e-6 of c are taken for it, so that probabilities lead somewhere with
  // exactly gamma. Throws InvalidArgument unless W is in the form of CSR with entries that are
  // finite and not negative, one of them positive, and gamma lies in (0, 1].
  static SparseStep graph(GraphWeights weights, double gamma);

  const std::shared_ptr<const backend::SparsePower>& step() const { return step_; }
  double gamma() const { return gamma_; }
  int num_categories() const { return static_cast<int>(step_->num_categories()); }

  // Of a graph as they were given; null for any other.
  const GraphWeights* weights() const { return weights_.get(); }

  // Whether it is its own transpose.
  bool is_symmetric() const { return is_symmetric_; }

  // A pair of categories of which the first never leads to the second, in any number of steps.
  std::optional<std::pair<int, int>> unconnected() const;

  // log of the law that a step leaves as it is, [S], and the step seen backwards under it, of a
  // graph all of whose categories lead to each other.
  std::vector<double> log_stationary(const Context& context) const;
  SparseStep time_reversed(const Context& context) const;

  // The mean of |y - x| over a uniform x and a step x -> y.
  double expected_movement() const;

 private:
  SparseStep(backend::SparsePower step, double gamma);

  std::shared_ptr<const backend::SparsePower> step_;
  std::shared_ptr<const GraphWeights> weights_;
  double gamma_;
  bool is_symmetric_;
};

// The n-th power of an absorbing step as an operator of rank 1: to stay, or to move to the mask.
backend::FactoredPower absorbing_power(int num_categories, double gamma, int n);

}  // namespace bridgemark
