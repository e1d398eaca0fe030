#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bridgemark/bridge/chain_potential.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/tolerance.h"

// Bridges whose probabilities leave the range of double, against sums over every state in the log
// domain: finite, and right.
namespace bridgemark {
namespace {

using testing::all_near;
using testing::kContext;
using testing::Tolerance;
using testing::Wide;

constexpr int kTotal = 128;

// DenseOracle's sums, each a log-sum-exp of long doubles.
class LogOracle {
 public:
  LogOracle(Wide log_step, const CpPotential& potential)
      : log_step_(std::move(log_step)),
        states_(testing::all_states(potential.dim(), potential.num_categories())),
        log_v_(states_.rows()) {
    std::vector<long double> terms(potential.num_components());
    for (std::size_t i = 0; i < states_.rows(); ++i) {
      for (std::size_t k = 0; k < terms.size(); ++k) {
        terms[k] = potential.log_beta()[k];
        for (std::size_t d = 0; d < states_.cols(); ++d) {
          terms[k] += potential.log_cores()(d, static_cast<std::size_t>(states_(i, d)), k);
        }
      }
      log_v_[i] = testing::log_sum_wide(terms);
    }
  }

  const States& states() const { return states_; }

  // [S,S], by squaring.
  Wide power(int n) const {
    if (n == 0) {
      Wide identity(log_step_.rows(), log_step_.cols(), kLogZero);
      for (std::size_t s = 0; s < identity.rows(); ++s) identity(s, s) = 0.0L;
      return identity;
    }
    if (n == 1) return log_step_;
    const Wide half = power(n / 2);
    const Wide even = testing::log_multiply(half, half);
    return n % 2 == 0 ? even : testing::log_multiply(even, log_step_);
  }

  // log of the joint step from state i to every state.
  std::vector<long double> lifted_row(const Wide& log_q, std::size_t i) const {
    std::vector<long double> row(states_.rows(), 0.0L);
    for (std::size_t j = 0; j < states_.rows(); ++j) {
      for (std::size_t d = 0; d < states_.cols(); ++d) {
        row[j] +=
            log_q(static_cast<std::size_t>(states_(i, d)), static_cast<std::size_t>(states_(j, d)));
      }
    }
    return row;
  }

  std::vector<long double> log_phi(int rest) const {
    const Wide log_q = power(rest);
    std::vector<long double> phi(states_.rows());
    for (std::size_t i = 0; i < states_.rows(); ++i) {
      std::vector<long double> row = lifted_row(log_q, i);
      for (std::size_t j = 0; j < row.size(); ++j) row[j] += log_v_[j];
      phi[i] = testing::log_sum_wide(row);
    }
    return phi;
  }

  // log q(x_{n+1} | x_n = state i), over all states.
  std::vector<double> transition_row(const std::vector<long double>& log_phi_after,
                                     const Wide& log_onestep, std::size_t i) const {
    std::vector<long double> row = lifted_row(log_onestep, i);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] += log_phi_after[j];
    const long double total = testing::log_sum_wide(row);
    std::vector<double> out;
    for (const long double value : row) out.push_back(static_cast<double>(value - total));
    return out;
  }

  // [D * S] from a row over all states.
  std::vector<double> marginals(const std::vector<double>& row) const {
    const std::size_t D = states_.cols(), S = log_step_.rows();
    std::vector<double> out;
    for (std::size_t d = 0; d < D; ++d) {
      for (std::size_t s = 0; s < S; ++s) {
        std::vector<long double> terms;
        for (std::size_t j = 0; j < row.size(); ++j) {
          if (states_(j, d) == static_cast<std::int32_t>(s)) terms.push_back(row[j]);
        }
        out.push_back(static_cast<double>(testing::log_sum_wide(terms)));
      }
    }
    return out;
  }

 private:
  Wide log_step_;
  States states_;
  std::vector<long double> log_v_;
};

// c, the conditional, transitions, their marginals and draws of some starts.
void check_bridge(const CpBridge& bridge, const LogOracle& oracle,
                  const std::vector<std::size_t>& starts, Tolerance tolerance,
                  const std::string& name) {
  const States& states = oracle.states();
  const std::size_t M = states.rows(), D = bridge.dim();
  const auto S = static_cast<std::size_t>(bridge.num_categories());
  const std::vector<long double> phi0 = oracle.log_phi(kTotal);
  std::vector<double> log_c(M);
  bridge.log_normalizer(kContext, states, log_c);
  EXPECT_TRUE(all_near(log_c, std::vector<double>(phi0.begin(), phi0.end()), tolerance)) << name;

  struct Step {
    int num_steps, n;
  };
  for (const Step step : {Step{1, 0}, Step{4, 0}, Step{4, 2}, Step{4, 3}}) {
    const int skip = kTotal / step.num_steps;
    const Wide log_onestep = oracle.power(skip);
    const auto phi = oracle.log_phi((step.num_steps - step.n - 1) * skip);
    for (const std::size_t start : starts) {
      const std::string where =
          fmt::format("{}, step {} of {}, from {}", name, step.n, step.num_steps, start);
      const std::vector<double> expected = oracle.transition_row(phi, log_onestep, start);
      const States from = testing::repeat_row(states, start, M);
      std::vector<double> row(M);
      bridge.log_transition(kContext, step.num_steps, step.n, from, states, row);
      EXPECT_TRUE(all_near(row, expected, tolerance)) << where;
      Array3<double> marginals;
      bridge.log_transition_marginals(kContext, step.num_steps, step.n, from.view().slice(0, 1),
                                      marginals);
      const std::vector<double> expected_marginals = oracle.marginals(expected);
      EXPECT_TRUE(all_near({marginals.data(), marginals.size()}, expected_marginals, tolerance))
          << where;

      constexpr std::size_t kRows = 20000;
      const States repeated = testing::repeat_row(states, start, kRows);
      States drawn(kRows, D);
      bridge.sample_transition(kContext, step.num_steps, step.n, repeated,
                               {start, DrawPurpose::kTransition}, 0, drawn);
      std::vector<std::size_t> counts(D * S, 0);
      for (std::size_t i = 0; i < drawn.size(); ++i) {
        ++counts[i % D * S + static_cast<std::size_t>(drawn.data()[i])];
      }
      for (std::size_t d = 0; d < D; ++d) {
        std::vector<double> p(S);
        for (std::size_t s = 0; s < S; ++s) p[s] = std::exp(expected_marginals[d * S + s]);
        EXPECT_TRUE(testing::fits({counts.data() + d * S, S}, p)) << where << ", dimension " << d;
      }
    }
  }
}

Wide log_gaussian(std::size_t S, double gamma) {
  Wide log(S, S);
  for (std::size_t x = 0; x < S; ++x) {
    for (std::size_t y = 0; y < S; ++y) {
      const long double move = (static_cast<long double>(x) - static_cast<long double>(y)) /
                               (static_cast<long double>(gamma) * static_cast<long double>(S - 1));
      log(x, y) = -4.0L * move * move;
    }
  }
  return log;
}

// 1 - 1e-30 on the last category in one component and on the third last in the other.
CpPotential peaked_potential(std::size_t dim, std::size_t S) {
  Array3<double> cores(dim, S, 2, std::log(1e-30 / static_cast<double>(S - 1)));
  for (std::size_t d = 0; d < dim; ++d) {
    cores(d, S - 1, 0) = std::log1p(-1e-30);
    cores(d, S - 3, 1) = std::log1p(-1e-30);
  }
  return {{std::log(0.7), std::log(0.3)}, std::move(cores)};
}

TEST(BridgeExtremes, PeakedCoresFarFromTheStart) {
  constexpr std::size_t kS = 16;
  const CpPotential potential = peaked_potential(2, kS);
  const std::vector<std::size_t> starts{0, 3, 5 * kS + 9, kS * kS - 1};
  check_bridge({ReferenceProcess::uniform(kS, 0.005), potential},
               {testing::log_of(testing::uniform_step(kS, 0.005)), potential}, starts,
               {1e-12, 1e-11}, "uniform");
  check_bridge({ReferenceProcess::gaussian(kS, 0.02), potential},
               {testing::log_of(testing::gaussian_step(kS, 0.02)), potential}, starts,
               {1e-12, 1e-11}, "gaussian");
}

TEST(BridgeExtremes, TinyGamma) {
  constexpr std::size_t kS = 6;
  const auto item = testing::make_case("", ReferenceProcess::uniform(kS, 1e-4),
                                       testing::uniform_step(kS, 1e-4), {2, kS, 3, 4.0, 0.2}, 51);
  const CpPotential& potential = item.bridge.potential();
  const std::vector<std::size_t> starts{0, 8, kS * kS - 1};
  check_bridge(item.bridge, {testing::log_of(testing::uniform_step(kS, 1e-4)), potential}, starts,
               {1e-12, 1e-11}, "uniform");
  // Logarithms of probabilities near -1e8: rounding leaves an absolute error of 1e-8 in each.
  check_bridge({ReferenceProcess::gaussian(kS, 1e-4), potential},
               {log_gaussian(kS, 1e-4), potential}, starts, {1e-12, 1e-6}, "gaussian");
}

// Both at once: the walk must cross 15 categories at weights near exp(-1e8) to reach the peak.
TEST(BridgeExtremes, PeakedCoresAndTinyGamma) {
  constexpr std::size_t kS = 6;
  const CpPotential potential = peaked_potential(2, kS);
  check_bridge({ReferenceProcess::gaussian(kS, 1e-4), potential},
               {log_gaussian(kS, 1e-4), potential}, {0, 14}, {1e-12, 1e-6}, "gaussian");
}

// Zeros everywhere but on one state: every draw ends there, whatever it costs.
TEST(BridgeExtremes, OneReachableEnd) {
  constexpr std::size_t kS = 50;
  Array3<double> cores(3, kS, 1, kLogZero);
  for (std::size_t d = 0; d < 3; ++d) cores(d, 49 - d, 0) = -3.0;
  const CpBridge bridge(ReferenceProcess::gaussian(kS, 1e-4), CpPotential({0.0}, cores));
  const States x0(600, 3, 0);
  for (const bool pinned : {false, true}) {
    const auto trajectory =
        pinned ? sample_pinned_trajectory(kContext, bridge, bridge.process(), 64, x0, 1, 0)
               : sample_markov_trajectory(kContext, bridge, 64, x0, 1, 0);
    for (std::size_t i = 0; i < x0.rows(); ++i) {
      for (std::size_t d = 0; d < 3; ++d) {
        ASSERT_EQ(trajectory(i, 64, d), 49 - static_cast<std::int32_t>(d));
        // 128 elementary steps, 49 categories: only unit moves are left, at most two a step.
        for (std::size_t n = 0; n < 64; ++n) {
          const int move = trajectory(i, n + 1, d) - trajectory(i, n, d);
          ASSERT_TRUE(0 <= move && move <= 2) << move;
        }
      }
    }
  }
}

TEST(BridgeExtremes, TwoCategories) {
  // At gamma = 1/2 one step forgets everything: the identity part is exactly zero.
  for (const double gamma : {0.01, 0.5, 0.999}) {
    const auto item = testing::make_case("", ReferenceProcess::uniform(2, gamma),
                                         testing::uniform_step(2, gamma), {7, 2, 3, 3.0}, 52);
    check_bridge(item.bridge,
                 {testing::log_of(testing::uniform_step(2, gamma)), item.bridge.potential()},
                 {0, 77, 127}, {1e-12, 1e-11}, fmt::format("gamma {}", gamma));
  }
}

TEST(BridgeExtremes, OneDimension) {
  const auto item = testing::make_case("", ReferenceProcess::gaussian(20, 0.05),
                                       testing::gaussian_step(20, 0.05), {1, 20, 4, 5.0}, 53);
  check_bridge(item.bridge,
               {testing::log_of(testing::gaussian_step(20, 0.05)), item.bridge.potential()},
               {0, 11, 19}, {1e-12, 1e-11}, "D = 1");
}

TEST(BridgeExtremes, OneComponentHasIndependentCoordinates) {
  const auto item = testing::make_case("", ReferenceProcess::gaussian(6, 0.2),
                                       testing::gaussian_step(6, 0.2), {2, 6, 1, 5.0}, 54);
  check_bridge(item.bridge,
               {testing::log_of(testing::gaussian_step(6, 0.2)), item.bridge.potential()}, {0, 20},
               {1e-12, 1e-11}, "K = 1");
  const testing::StatePairs pairs = testing::all_pairs(item.oracle.states());
  std::vector<double> joint(pairs.from.rows());
  Array3<double> marginals;
  item.bridge.log_conditional(kContext, pairs.from, pairs.to, joint);
  item.bridge.log_marginals(kContext, pairs.from, marginals);
  for (std::size_t i = 0; i < joint.size(); ++i) {
    const double sum = marginals(i, 0, static_cast<std::size_t>(pairs.to(i, 0))) +
                       marginals(i, 1, static_cast<std::size_t>(pairs.to(i, 1)));
    EXPECT_TRUE(testing::is_near(joint[i], sum, {1e-12, 1e-11}));
  }
}

// Weights of any size: those of components that do not count change nothing, and a scale that would
// take the cores with it is refused.
TEST(Extremes, WeightsAreRightOrRefused) {
  const ReferenceProcess process = ReferenceProcess::gaussian(5, 0.3, 16);
  const Array3<double> both(2, 5, 2, {-1.0, 2.0, -2.0, 0.5, -0.5, -3.0, -4.0, -1.0, -0.1, 1.0,
                                      -2.5, 0.0, -1.5, 0.2, -0.7, 0.4,  -3.0, 1.5,  -1.2, -0.9});
  Array3<double> first(2, 5, 1);
  for (std::size_t d = 0; d < 2; ++d) {
    for (std::size_t s = 0; s < 5; ++s) first(d, s, 0) = both(d, s, 0);
  }
  const States x0(1, 2, {1, 3});
  const auto marginals = [&](CpPotential potential) {
    Array3<double> out(1, 2, 5);
    CpBridge(process, std::move(potential)).log_marginals(kContext, x0, out);
    return std::vector<double>(out.data(), out.data() + out.size());
  };
  const std::vector<double> expected = marginals(CpPotential({0.0}, first));
  for (const double beta : {-1e7, -1e16, -1e100, -1e300}) {
    EXPECT_TRUE(all_near(marginals(CpPotential({0.0, beta}, both)), expected, Tolerance{1e-12, 0}))
        << beta;
  }
  for (const double beta : {1e7, -1e7, 1e16, 1e300, -1e300}) {
    EXPECT_THROW(CpPotential({beta, beta}, both), InvalidArgument) << beta;
    EXPECT_THROW(CpPotential({0.0}, Array3<double>(2, 5, 1, beta)), InvalidArgument) << beta;
    EXPECT_THROW(ChainPotential({beta, beta}, Array3<double>(1, 2, 2, 0.0), both), InvalidArgument);
    EXPECT_THROW(ChainPotential({0.0, 0.0}, Array3<double>(1, 2, 2, beta), both), InvalidArgument);
  }
}

}  // namespace
}  // namespace bridgemark
