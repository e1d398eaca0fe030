#include "bridgemark/bridge/coupling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/support/chi_square.h"
#include "tests/support/small_pair.h"

namespace bridgemark {
namespace {

// One step of two coordinates of three categories, known by its marginals alone: each state has its
// own, and one category is ruled out.
class TwoCoordinates : public Coupling {
 public:
  std::size_t dim() const override { return 2; }
  int num_categories() const override { return 3; }
  void sample(const Context&, StatesView x0, const DrawKey&, std::uint64_t,
              MutableStatesView x1) const override {
    std::copy_n(x0.data, x0.size(), x1.data);
  }
  bool has_transitions(int num_steps) const override { return num_steps == 1; }
  void write_log_transition_marginals(const Context&, int, int, StatesView x,
                                      MatrixView<double> out) const override {
    for (std::size_t i = 0; i < x.rows; ++i) {
      for (std::size_t d = 0; d < 2; ++d) {
        for (int s = 0; s < 3; ++s) {
          out(i, 3 * d + static_cast<std::size_t>(s)) = std::log(probability(x(i, d), d, s));
        }
      }
    }
  }

  static double probability(int from, std::size_t d, int s) {
    constexpr double kRows[2][3] = {{0.6, 0.1, 0.3}, {0.25, 0.75, 0.0}};
    return kRows[d][(s + 3 - from) % 3];
  }
};

TEST(Coupling, TransitionsAreDrawnFromTheirMarginalsWhereNothingElseIsKnown) {
  const TwoCoordinates coupling;
  constexpr std::size_t kDraws = 200000;
  States x(kDraws, 2), next(kDraws, 2);
  for (std::size_t i = 0; i < kDraws; ++i) {
    x(i, 0) = 1;
    x(i, 1) = 2;
  }
  coupling.sample_transition({}, 1, 0, x, {5, DrawPurpose::kTransition}, 0, next);
  std::vector<std::size_t> counts(9);
  std::vector<double> expected(9);
  for (std::size_t i = 0; i < kDraws; ++i) {
    ++counts[static_cast<std::size_t>(next(i, 0) * 3 + next(i, 1))];
  }
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      expected[static_cast<std::size_t>(a * 3 + b)] =
          TwoCoordinates::probability(1, 0, a) * TwoCoordinates::probability(2, 1, b);
    }
  }
  EXPECT_TRUE(testing::fits(counts, expected));
}

TEST(Coupling, DrawnTransitionsDependOnTheIndexAlone) {
  const TwoCoordinates coupling;
  const States x(1000, 2, 1);
  States whole(1000, 2), parts(1000, 2);
  const DrawKey key{9, DrawPurpose::kTransition};
  coupling.sample_transition(testing::with_threads(3), 1, 0, x, key, 40, whole);
  for (std::size_t first = 0; first < 1000; first += 250) {
    coupling.sample_transition(testing::with_threads(1), 1, 0, x.view().slice(first, 250), key,
                               40 + first, parts.view().slice(first, 250));
  }
  EXPECT_EQ(whole, parts);
}

TEST(Coupling, WhatIsNotThereIsRefused) {
  class Bare : public TwoCoordinates {
    void write_log_transition_marginals(const Context& context, int num_steps, int n, StatesView x,
                                        MatrixView<double> out) const override {
      Coupling::write_log_transition_marginals(context, num_steps, n, x, out);
    }
  } bare;
  const States x(1, 2, 0);
  States next(1, 2);
  Array3<double> marginals;
  std::vector<double> joint(1);
  EXPECT_THROW(bare.sample_transition({}, 1, 0, x, {}, 0, next), InvalidArgument);
  EXPECT_THROW(bare.log_marginals({}, x, marginals), InvalidArgument);
  EXPECT_THROW(bare.log_conditional({}, x, x, joint), InvalidArgument);
  EXPECT_EQ(bare.why_missing(Ability::kTransitions, 7),
            "the coupling has no transitions with 7 steps");
}

}  // namespace
}  // namespace bridgemark
