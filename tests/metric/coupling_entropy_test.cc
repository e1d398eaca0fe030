#include "bridgemark/metric/own_data/coupling_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "tests/metric/particle_testing.h"
#include "tests/support/enumerate.h"

namespace bridgemark {
namespace {

using testing::all_pairs;
using testing::all_states;
using testing::random_potential;

constexpr int kS = 4;
constexpr std::size_t kD = 2;

double plogp(double p) { return p > 0.0 ? -p * std::log(p) : 0.0; }

// Entropies by all states of a bridge on 4^2 of them.
TEST(CouplingEntropy, EqualsEnumeration) {
  const ReferenceProcess process = ReferenceProcess::gaussian(kS, 0.4, 8);
  const CpBridge bridge(process, random_potential(kD, kS, 3, 5));
  const States states = all_states(kD, kS);
  const std::size_t M = states.rows();
  const testing::StatePairs pairs = all_pairs(states);
  std::vector<double> log_q(M * M);
  bridge.log_conditional({}, pairs.from, pairs.to, log_q);

  double given = 0.0;
  std::vector<double> mixture(kD * kS, 0.0);
  for (std::size_t i = 0; i < M; ++i) {
    std::vector<double> marginal(kD * kS, 0.0);
    for (std::size_t j = 0; j < M; ++j) {
      for (std::size_t d = 0; d < kD; ++d) {
        marginal[d * kS + static_cast<std::size_t>(states(j, d))] += std::exp(log_q[i * M + j]);
      }
    }
    for (std::size_t k = 0; k < kD * kS; ++k) {
      given += plogp(marginal[k]) / static_cast<double>(M);
      mixture[k] += marginal[k] / static_cast<double>(M);
    }
  }
  double whole = 0.0;
  for (const double p : mixture) whole += plogp(p);
  EXPECT_NEAR(told_share({}, bridge, states).mean, 1.0 - given / whole, 1e-10);
  EXPECT_GT(told_share({}, bridge, states).standard_error, 0.0);

  // The mean of -log q over draws is near the entropy over all x1: five errors fail one right
  // estimate in 1.7 million.
  double entropy = 0.0;
  for (std::size_t j = 0; j < M; ++j) entropy += plogp(std::exp(log_q[7 * M + j]));
  const States x0 = testing::repeat_row(states, 7, 4000);
  States x1(4000, kD);
  bridge.sample({}, x0, {11, DrawPurpose::kPrediction}, 0, x1);
  const MeanEstimate drawn = conditional_entropy({}, bridge, x0, x1);
  EXPECT_NEAR(drawn.mean, entropy, 5.0 * drawn.standard_error);
  EXPECT_GT(entropy, 5.0 * drawn.standard_error);
}

// The ends of the scale: a reference that stays tells all, one that forgets tells nothing.
TEST(CouplingEntropy, TellsAllAndNothing) {
  const CpPotential flat({0.0}, Array3<double>(kD, kS, 1, 0.0));
  const States states = all_states(kD, kS);
  const CpBridge stays(ReferenceProcess::uniform(kS, 1e-12, 1), flat);
  EXPECT_NEAR(told_share({}, stays, states).mean, 1.0, 1e-9);
  const CpBridge forgets(ReferenceProcess::from_matrix(Matrix<double>(kS, kS, 0.25), 1), flat);
  EXPECT_NEAR(told_share({}, forgets, states).mean, 0.0, 1e-12);
}

// With a single x0 the law of x1 is that of its answers: nothing is told, whatever the bridge. An
// x1 that is always the same has no entropy to tell of.
TEST(CouplingEntropy, OfASingleRow) {
  const ReferenceProcess process = ReferenceProcess::gaussian(kS, 0.4, 8);
  const States row = testing::repeat_row(all_states(kD, kS), 3, 2);
  const CpBridge bridge(process, random_potential(kD, kS, 2, 6));
  EXPECT_NEAR(told_share({}, bridge, row).mean, 0.0, 1e-12);
  Array3<double> cores(kD, kS, 1, -std::numeric_limits<double>::infinity());
  for (std::size_t d = 0; d < kD; ++d) cores(d, 1, 0) = 0.0;
  EXPECT_TRUE(std::isnan(told_share({}, CpBridge(process, CpPotential({0.0}, cores)), row).mean));
}

}  // namespace
}  // namespace bridgemark
