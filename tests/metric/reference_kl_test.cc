#include "bridgemark/metric/own_data/reference_kl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/metric/estimate.h"
#include "tests/metric/particle_testing.h"

namespace bridgemark {
namespace {

using testing::all_pairs;
using testing::all_states;
using testing::is_near;
using testing::StatePairs;
using testing::Wide;

// The seeds are fixed; a bound of 4.5 standard errors fails one right estimate in 150,000.
constexpr double kPathErrors = 4.5;

// The law of step n of a chain whose coordinates are independent given x_n, [M,M].
Wide step_law(const Coupling& chain, const States& states, int n) {
  Array3<double> marginals;
  chain.log_transition_marginals({}, testing::kSteps, n, states, marginals);
  Wide law(states.rows(), states.rows());
  for (std::size_t i = 0; i < states.rows(); ++i) {
    for (std::size_t j = 0; j < states.rows(); ++j) {
      long double log_p = 0.0L;
      for (std::size_t d = 0; d < states.cols(); ++d) {
        log_p += marginals(i, d, static_cast<std::size_t>(states(j, d)));
      }
      law(i, j) = std::exp(log_p);
    }
  }
  return law;
}

// KL of the paths of `chain` from those whose step n has the law other(n), from a uniform x_0.
template <typename Other>
double path_kl(const Coupling& chain, const States& states, Other&& other) {
  const std::size_t M = states.rows();
  std::vector<long double> now(M, 1.0L / static_cast<long double>(M));
  long double kl = 0.0L;
  for (int n = 0; n < testing::kSteps; ++n) {
    const Wide own = step_law(chain, states, n), there = other(n);
    std::vector<long double> next(M, 0.0L);
    for (std::size_t i = 0; i < M; ++i) {
      for (std::size_t j = 0; j < M; ++j) {
        next[j] += now[i] * own(i, j);
        kl += now[i] * own(i, j) * std::log(own(i, j) / there(i, j));
      }
    }
    now = std::move(next);
  }
  return static_cast<double>(kl);
}

States repeated_all(const States& states, std::size_t times) {
  States rows(states.rows() * times, states.cols());
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    std::copy_n(states.row(i % states.rows()), states.cols(), rows.row(i));
  }
  return rows;
}

TEST(ReferenceKl, OfABridgeIsItsJointOverTheReference) {
  for (const testing::BridgeCase& small : testing::small_bridges()) {
    const States states = all_states(small.bridge.dim(), small.bridge.num_categories());
    const StatePairs pairs = all_pairs(states);
    const Wide law = small.oracle.conditional(),
               reference = small.oracle.reference(small.total_steps);
    const std::vector<double> kl =
        joint_reference_kl({}, small.bridge, small.bridge.process(), pairs.from, pairs.to);
    const std::vector<double> by_joint = joint_reference_kl(
        {}, testing::OnlyJoint(small.bridge), small.bridge.process(), pairs.from, pairs.to);
    for (std::size_t i = 0; i < kl.size(); ++i) {
      if (reference.data()[i] == 0.0L) continue;  // neither leads there
      const double expected = static_cast<double>(std::log(law.data()[i] / reference.data()[i]));
      ASSERT_TRUE(is_near(kl[i], expected, {.rel = 1e-9, .abs = 1e-9})) << small.name << ' ' << i;
      ASSERT_TRUE(is_near(by_joint[i], expected, {.rel = 1e-9, .abs = 1e-9})) << small.name;
    }
  }
}

// Against sums over all states, for a chain that is near the bridge and one that is far.
TEST(ReferenceKl, OfAChainAndItsDistanceFromABridge) {
  const auto process = ReferenceProcess::gaussian(6, 0.25, 16);
  const CpBridge bridge(process, testing::random_potential(2, 6, 3, 2));
  const testing::DenseOracle oracle = testing::dense_oracle(bridge);
  const States states = all_states(2, 6), x0 = repeated_all(states, 60);
  for (const double spread : {0.3, 1.5}) {
    const testing::TableSteps chain = testing::disturbed(bridge, spread, 7);
    ASSERT_TRUE(has_chain_paths(chain, process));
    const ChainPaths paths = chain_paths({}, chain, process, x0, 5);
    const MeanEstimate kl = estimate_mean(paths.reference_kl);
    const double expected = path_kl(chain, states, [&](int) { return oracle.reference(4); });
    EXPECT_NEAR(kl.mean, expected, kPathErrors * kl.standard_error);
    EXPECT_LT(kl.standard_error, 0.1 * expected);

    const MeanEstimate distance = estimate_mean(bridge_distances({}, paths, bridge, x0));
    const double from_bridge =
        path_kl(chain, states, [&](int n) { return oracle.transition(testing::kSteps, n); });
    EXPECT_NEAR(distance.mean, from_bridge, kPathErrors * distance.standard_error);
    EXPECT_GT(distance.mean, 0.0);

    const ChainPaths threads = chain_paths(testing::with_threads(3), chain, process, x0, 5);
    EXPECT_EQ(threads.reference_kl, paths.reference_kl);
    EXPECT_EQ(threads.ends, paths.ends);
  }
}

TEST(ReferenceKl, ABridgeThatRulesAnEndOutIsInfinitelyFar) {
  const auto process = ReferenceProcess::uniform(6, 0.02, 16);
  const CpBridge bridge(process, testing::random_potential(2, 6, 3, 2));
  const testing::TableSteps chain = testing::disturbed(bridge, 0.1, 7);
  const States x0 = all_states(2, 6);
  const ChainPaths paths = chain_paths({}, chain, process, x0, 5);
  const States one(1, 2, std::vector<std::int32_t>{0, 0});
  const CpBridge point(process, point_potential(one, 6, {0.0}));
  EXPECT_EQ(estimate_mean(bridge_distances({}, paths, point, x0)).mean, testing::kInfinity);
}

TEST(ReferenceKl, ChainsNeedAGridOfTheReferenceAndStepsThatFactorise) {
  const auto process = ReferenceProcess::uniform(6, 0.02, 16);
  const CpBridge bridge(process, testing::random_potential(2, 6, 3, 2));
  const testing::TableSteps chain = testing::disturbed(bridge, 0.1, 7);
  EXPECT_TRUE(has_chain_paths(chain, process));
  EXPECT_FALSE(has_chain_paths(chain, ReferenceProcess::uniform(6, 0.02, 18)));
  EXPECT_FALSE(has_chain_paths(testing::OnlyJoint(bridge), process));
}

}  // namespace
}  // namespace bridgemark
