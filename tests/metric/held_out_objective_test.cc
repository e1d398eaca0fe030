#include "bridgemark/metric/held_out_objective.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/support/small_pair.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::kInfinity;
using testing::small_spec;

// Bridges other than the truth, over its reference: components of other instances, and the
// reference itself.
CpBridge another_bridge(const BenchmarkPair& pair, std::uint64_t seed) {
  PairSpec spec = small_spec();
  spec.seed = seed;
  return {pair.reference(), build_pair(spec).cp_bridge().potential()};
}

// The objective over all states, weighed by the truth's own marginals: D(v) without any error.
double exact_objective(const BenchmarkPair& pair, const CpBridge& bridge) {
  const States states = testing::all_states(pair.dim(), pair.num_categories());
  const HeldOutObjective all = held_out_objective({}, bridge, states, states);
  const testing::Wide joint = testing::dense_joint(pair);
  long double value = 0.0L;
  for (std::size_t i = 0; i < joint.rows(); ++i) {
    for (std::size_t j = 0; j < joint.cols(); ++j) {
      if (joint(i, j) > 0.0L) value += joint(i, j) * (all.log_v[j] - all.log_c[i]);
    }
  }
  return static_cast<double>(value);
}

TEST(HeldOutObjective, DifferencesAreThoseOfTheTrueKl) {
  const BenchmarkPair pair = build_pair(small_spec());
  const CpBridge a = another_bridge(pair, 5), b = another_bridge(pair, 6);
  const double kl_a = testing::joint_kl(pair, a), kl_b = testing::joint_kl(pair, b);
  EXPECT_GT(std::abs(kl_a - kl_b), 0.1);  // else the next line would say little
  EXPECT_TRUE(testing::is_near(exact_objective(pair, a) - exact_objective(pair, b), kl_b - kl_a,
                               {.abs = 1e-10}));
  EXPECT_TRUE(testing::is_near(exact_objective(pair, pair.cp_bridge()) - exact_objective(pair, a),
                               kl_a, {.abs = 1e-10}));
}

// On drawn rows, within five of its own errors (one seed in 1.7 million fails).
TEST(HeldOutObjective, RowsEstimateItWithTheirError) {
  const BenchmarkPair pair = build_pair(small_spec());
  const CpBridge a = another_bridge(pair, 5), b = another_bridge(pair, 6);
  const States x0 = pair.sample_x0({}, 4000, 1), x1 = pair.sample_x1({}, 3000, 2);
  const HeldOutObjective of_a = held_out_objective({}, a, x0, x1);
  const HeldOutObjective of_b = held_out_objective({}, b, x0, x1);
  EXPECT_NEAR(of_a.value, exact_objective(pair, a), 5.0 * of_a.standard_error);
  const MeanEstimate difference = objective_difference(of_a, of_b);
  EXPECT_NEAR(difference.mean, of_a.value - of_b.value, 1e-12);
  EXPECT_NEAR(difference.mean, testing::joint_kl(pair, b) - testing::joint_kl(pair, a),
              5.0 * difference.standard_error);
  EXPECT_EQ(objective_difference(of_a, of_a).mean, 0.0);
  EXPECT_EQ(objective_difference(of_a, of_a).standard_error, 0.0);
}

TEST(HeldOutObjective, ErrorsByHand) {
  HeldOutObjective a, b;
  a.log_v = {1.0, 3.0};
  a.log_c = {0.0, 0.0, 3.0};
  b.log_v = {0.0, 0.0};
  b.log_c = {0.0, 0.0, 0.0};
  const MeanEstimate difference = objective_difference(a, b);
  EXPECT_DOUBLE_EQ(difference.mean, 1.0);
  EXPECT_DOUBLE_EQ(difference.standard_error, std::sqrt(2.0 / 2.0 + 3.0 / 3.0));
}

// A bridge that rules a row out is infinitely far; no NaN follows.
TEST(HeldOutObjective, RowsThatAreRuledOut) {
  const BenchmarkPair pair = build_pair(small_spec());
  const States x0 = pair.sample_x0({}, 10, 1), x1 = pair.sample_x1({}, 10, 2);
  const States one(1, 2, std::vector<std::int32_t>{x1(0, 0), x1(0, 1)});
  const CpBridge point(pair.reference(), point_potential(one, 6, {0.0}));
  const HeldOutObjective far = held_out_objective({}, point, x0, x1);
  const HeldOutObjective near = held_out_objective({}, pair.cp_bridge(), x0, x1);
  EXPECT_EQ(far.value, -kInfinity);
  EXPECT_EQ(far.standard_error, 0.0);
  EXPECT_EQ(objective_difference(far, near).mean, -kInfinity);
  EXPECT_EQ(objective_difference(near, far).mean, kInfinity);
  EXPECT_EQ(objective_difference(near, far).standard_error, 0.0);
  EXPECT_EQ(objective_difference(far, far).mean, 0.0);
  EXPECT_EQ(objective_difference(far, far).standard_error, kInfinity);
}

TEST(HeldOutObjective, SingleRowsHaveNoKnownErrorAndNoneAreRefused) {
  const BenchmarkPair pair = build_pair(small_spec());
  const States x0 = pair.sample_x0({}, 1, 1), x1 = pair.sample_x1({}, 5, 2);
  const HeldOutObjective objective = held_out_objective({}, pair.cp_bridge(), x0, x1);
  EXPECT_TRUE(std::isfinite(objective.value));
  EXPECT_EQ(objective.standard_error, kInfinity);
  EXPECT_THROW(held_out_objective({}, pair.cp_bridge(), States(0, 2), x1), InvalidArgument);
  EXPECT_THROW(held_out_objective({}, pair.cp_bridge(), States(3, 3), x1), InvalidArgument);
  const HeldOutObjective other =
      held_out_objective({}, pair.cp_bridge(), pair.sample_x0({}, 2, 1), x1);
  EXPECT_THROW(objective_difference(objective, other), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
