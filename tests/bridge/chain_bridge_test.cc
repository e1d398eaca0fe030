#include "bridgemark/bridge/chain_bridge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/bridge/reversed_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "tests/io/io_testing.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/random_chain.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;
using testing::error_of;
using testing::fits;
using testing::is_near;
using testing::kContext;
using testing::potential_by_paths;
using testing::random_array;
using testing::random_chain;
using testing::Wide;

constexpr int kSteps = 4;

// A chain bridge and what it must be, by sums over all states.
struct ChainCase {
  std::string name;
  ChainBridge bridge;
  Wide step;
  States states;
  std::vector<long double> v;

  ChainCase(std::string label, ReferenceProcess process, Wide elementary, ChainPotential potential)
      : name(std::move(label)),
        bridge(std::move(process), std::move(potential)),
        step(std::move(elementary)),
        states(testing::all_states(bridge.dim(), bridge.num_categories())),
        v(potential_by_paths(bridge.potential(), states)) {}

  std::vector<long double> phi(int rest) const {
    const Wide q = testing::lift(testing::power(step, rest), states);
    std::vector<long double> out(states.rows());
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (std::size_t j = 0; j < out.size(); ++j) out[i] += q(i, j) * v[j];
    }
    return out;
  }

  // q(x_{n+1} | x_n) of a chain of num_steps steps.
  Wide transition(int num_steps, int n) const {
    const int skip = bridge.process().total_steps() / num_steps;
    Wide law = testing::lift(testing::power(step, skip), states);
    const std::vector<long double> before = phi((num_steps - n) * skip),
                                   after = phi((num_steps - n - 1) * skip);
    for (std::size_t i = 0; i < law.rows(); ++i) {
      for (std::size_t j = 0; j < law.cols(); ++j) law(i, j) *= after[j] / before[i];
    }
    return law;
  }
};

std::vector<ChainCase> cases() {
  std::vector<ChainCase> cases;
  cases.emplace_back("uniform, D 3", ReferenceProcess::uniform(3, 0.01),
                     testing::uniform_step(3, 0.01), random_chain(3, 3, 4, 2.0, 1));
  cases.emplace_back("gaussian, D 2, K 5", ReferenceProcess::gaussian(5, 0.3),
                     testing::gaussian_step(5, 0.3), random_chain(2, 5, 5, 3.0, 2));
  const Matrix<double> matrix = testing::random_stochastic(3, 0.95, 3);
  cases.emplace_back("matrix, D 4", ReferenceProcess::from_matrix(matrix), testing::widen(matrix),
                     random_chain(4, 3, 3, 2.0, 3));
  cases.emplace_back("uniform, D 6, K 2", ReferenceProcess::uniform(2, 0.2, 8),
                     testing::uniform_step(2, 0.2), random_chain(6, 2, 2, 4.0, 4));
  // Moves that are never made, and a state that cannot start.
  ChainPotential holes = random_chain(3, 3, 3, 2.0, 5);
  std::vector<double> start = holes.log_start();
  Array3<double> moves = holes.log_moves();
  start[1] = kLogZero;
  moves(0, 0, 2) = moves(1, 2, 2) = moves(1, 0, 1) = kLogZero;
  cases.emplace_back("holes", ReferenceProcess::uniform(3, 0.05), testing::uniform_step(3, 0.05),
                     ChainPotential(start, moves, holes.log_cores()));
  cases.emplace_back("one coordinate", ReferenceProcess::uniform(4, 0.05),
                     testing::uniform_step(4, 0.05), random_chain(1, 4, 3, 2.0, 6));
  return cases;
}

TEST(ChainBridge, PotentialsAndNormalisersAreTheSumsOverPaths) {
  for (const ChainCase& item : cases()) {
    const std::size_t M = item.states.rows();
    std::vector<double> log_v(M), log_c(M), log_phi(M), expected(M);
    item.bridge.potential().log_value(kContext, item.states, log_v);
    item.bridge.log_normalizer(kContext, item.states, log_c);
    const int total = item.bridge.process().total_steps();
    const auto compare = [&](const std::vector<double>& actual, int rest) {
      const std::vector<long double> phi = item.phi(rest);
      for (std::size_t i = 0; i < M; ++i) expected[i] = static_cast<double>(std::log(phi[i]));
      EXPECT_TRUE(all_near(actual, expected, {1e-12, 1e-12})) << item.name << ", rest " << rest;
    };
    compare(log_v, 0);
    compare(log_c, total);
    for (int n = 0; n <= kSteps; ++n) {
      item.bridge.log_phi(kContext, kSteps, n, item.states, log_phi);
      compare(log_phi, total / kSteps * (kSteps - n));
    }
  }
}

TEST(ChainBridge, JointAndMarginalsAreThoseOfTheEnumeration) {
  for (const ChainCase& item : cases()) {
    const std::size_t M = item.states.rows(), D = item.states.cols();
    const testing::StatePairs pairs = testing::all_pairs(item.states);
    for (int n = -1; n < kSteps; ++n) {  // -1: the whole conditional
      const int steps = n < 0 ? 1 : kSteps;
      const Wide law = item.transition(steps, std::max(n, 0));
      std::vector<double> log_q(M * M), expected(M * M);
      item.bridge.log_transition(kContext, steps, std::max(n, 0), pairs.from, pairs.to, log_q);
      for (std::size_t i = 0; i < M * M; ++i) {
        expected[i] = static_cast<double>(std::log(law.data()[i]));
      }
      EXPECT_TRUE(all_near(log_q, expected, {1e-12, 1e-12})) << item.name << ", n " << n;
      Array3<double> marginals;
      item.bridge.log_transition_marginals(kContext, steps, std::max(n, 0), item.states, marginals);
      for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t d = 0; d < D; ++d) {
          for (int s = 0; s < item.bridge.num_categories(); ++s) {
            long double share = 0.0L;
            for (std::size_t j = 0; j < M; ++j) {
              if (item.states(j, d) == s) share += law(i, j);
            }
            EXPECT_TRUE(is_near(std::exp(marginals(i, d, static_cast<std::size_t>(s))),
                                static_cast<double>(share), {1e-12, 1e-13}))
                << item.name;
          }
        }
      }
    }
  }
}

// p0 c^-1 Q v has the marginals p0 and p1, whatever p0: the Schrödinger system.
TEST(ChainBridge, SolvesTheSchrodingerSystem) {
  for (const ChainCase& item : cases()) {
    const std::size_t M = item.states.rows();
    const Wide law = item.transition(1, 0);
    for (std::size_t i = 0; i < M; ++i) {
      long double sum = 0.0L;
      for (std::size_t j = 0; j < M; ++j) sum += law(i, j);
      EXPECT_NEAR(static_cast<double>(sum), 1.0, 1e-13);
    }
  }
}

TEST(ChainBridge, DrawsFollowTheEnumeration) {
  constexpr std::size_t kRows = 30000;
  for (const ChainCase& item : cases()) {
    const std::size_t M = item.states.rows(), D = item.states.cols(), start = M / 3;
    const States x = testing::repeat_row(item.states, start, kRows);
    for (int n = -1; n < 2; ++n) {
      const int steps = n < 0 ? 1 : kSteps;
      const Wide law = item.transition(steps, std::max(n, 0));
      States drawn(kRows, D);
      item.bridge.sample_transition(kContext, steps, std::max(n, 0), x,
                                    {7, DrawPurpose::kTransition}, 0, drawn);
      std::vector<std::size_t> counts(M);
      std::vector<double> row(M);
      for (std::size_t i = 0; i < kRows; ++i) {
        ++counts[testing::state_index(drawn.row(i), D, item.bridge.num_categories())];
      }
      for (std::size_t j = 0; j < M; ++j) row[j] = static_cast<double>(law(start, j));
      EXPECT_TRUE(fits(counts, row)) << item.name << ", n " << n;
    }
  }
}

// A chain that never changes its state is a CP potential.
TEST(ChainBridge, WithoutSwitchingItIsTheCpBridge) {
  std::mt19937_64 generator(9);
  const std::size_t D = 5, S = 6, K = 3;
  const Array3<double> cores = random_array(D, S, K, 4.0, generator);
  const std::vector<double> weights{0.3, -1.0, 0.5};
  const ReferenceProcess process = ReferenceProcess::gaussian(6, 0.2);
  const CpBridge cp(process, CpPotential(weights, cores));
  const ChainBridge chain(process, ChainPotential(weights, switching_moves(D, K, 0.0), cores));
  States x(200, D), y(200, D);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<std::int32_t>(generator() % S);
    y.data()[i] = static_cast<std::int32_t>(generator() % S);
  }
  std::vector<double> a(200), b(200);
  cp.log_conditional(kContext, x, y, a);
  chain.log_conditional(kContext, x, y, b);
  EXPECT_TRUE(all_near(b, a, {1e-13, 1e-13}));
  Array3<double> marginals_a, marginals_b;
  cp.log_transition_marginals(kContext, 16, 3, x, marginals_a);
  chain.log_transition_marginals(kContext, 16, 3, x, marginals_b);
  EXPECT_TRUE(all_near({marginals_b.data(), marginals_b.size()},
                       {marginals_a.data(), marginals_a.size()}, {1e-13, 1e-13}));
}

// Weights that leave the range of doubles: the linear way gives up and the exact one answers.
TEST(ChainBridge, ExtremePotentialsStayExact) {
  const std::size_t D = 40, S = 3, K = 3;
  std::mt19937_64 generator(11);
  const Array3<double> cores = random_array(D, S, K, 400.0, generator);
  for (const double rate : {0.0, 1e-12, 0.3}) {
    const ChainBridge bridge(ReferenceProcess::uniform(3, 1e-4),
                             ChainPotential({0.0, 0.0, 0.0}, switching_moves(D, K, rate), cores));
    States x(50, D), drawn(50, D), moved(50, D);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x.data()[i] = static_cast<std::int32_t>(generator() % S);
    }
    bridge.sample(kContext, x, {1, DrawPurpose::kConditional}, 0, drawn);
    std::vector<double> log_q(50);
    bridge.log_conditional(kContext, x, drawn, log_q);
    for (const double value : log_q) {
      EXPECT_TRUE(std::isfinite(value));
      EXPECT_GT(value, -60.0) << "a draw this unlikely is none of this law";
    }
    Array3<double> marginals;
    bridge.log_marginals(kContext, x, marginals);
    for (std::size_t i = 0; i < marginals.size(); ++i)
      EXPECT_FALSE(std::isnan(marginals.data()[i]));
  }
}

TEST(ChainBridge, SameDrawsForAnySplitAndThreads) {
  const ChainBridge bridge(ReferenceProcess::gaussian(8, 0.1), random_chain(12, 8, 4, 3.0, 12));
  States x(700, 12), whole(700, 12), parts(700, 12);
  std::mt19937_64 generator(13);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<std::int32_t>(generator() % 8);
  }
  const DrawKey key{5, DrawPurpose::kConditional};
  bridge.sample({.num_threads = 3}, x, key, 10, whole);
  const ChainBridge fresh = bridge;
  for (std::size_t first = 0; first < 700; first += 90) {
    const std::size_t rows = std::min<std::size_t>(90, 700 - first);
    fresh.sample({.num_threads = 1}, x.view().slice(first, rows), key, 10 + first,
                 parts.view().slice(first, rows));
  }
  EXPECT_EQ(parts, whole);
}

// Read backwards: draws, p1 and marginals against sums over all states.
TEST(ChainBridge, ReversedIsTheEnumeration) {
  constexpr std::size_t kRows = 20000;
  for (const ChainCase& item : cases()) {
    const std::size_t M = item.states.rows(), D = item.states.cols(),
                      S = static_cast<std::size_t>(item.bridge.num_categories());
    std::mt19937_64 generator(21);
    Matrix<double> log_p0(D, S);
    for (std::size_t d = 0; d < D; ++d) {
      for (std::size_t s = 0; s < S; ++s) log_p0(d, s) = 2.0 * testing::unit(generator);
      log_normalize(log_p0.row(d), S);
    }
    const ReversedBridge reversed(kContext, std::make_shared<ChainBridge>(item.bridge), log_p0);
    const int total = item.bridge.process().total_steps();
    const Wide q = testing::lift(testing::power(item.step, total), item.states);
    const std::vector<long double> c = item.phi(total);
    const LogEstimates p1 = reversed.log_p1(kContext, item.states, 3, 0.01);
    const MarginalEstimates marginals =
        reversed.estimate_marginals(kContext, item.states.view().slice(0, 3), 2000);
    for (std::size_t j = 0; j < M; ++j) {
      std::vector<double> law(M);
      long double sum = 0.0L;
      for (std::size_t i = 0; i < M; ++i) {
        long double log_source = 0.0L;
        for (std::size_t d = 0; d < D; ++d) {
          log_source += log_p0(d, static_cast<std::size_t>(item.states(i, d)));
        }
        const long double weight = std::exp(log_source) * q(i, j) / c[i];
        law[i] = static_cast<double>(weight);
        sum += weight;
      }
      for (double& value : law) value /= static_cast<double>(sum);
      EXPECT_NEAR(std::exp(p1.value[j]) / static_cast<double>(sum * item.v[j]), 1.0,
                  6.0 * p1.standard_error[j])
          << item.name;
      if (j < 3) {
        for (std::size_t d = 0; d < D; ++d) {
          for (std::size_t s = 0; s < S; ++s) {
            double share = 0.0;
            for (std::size_t i = 0; i < M; ++i) {
              if (static_cast<std::size_t>(item.states(i, d)) == s) share += law[i];
            }
            EXPECT_NEAR(marginals.probability(j, d, s), share,
                        6.0 * marginals.standard_error(j, d, s))
                << item.name;
          }
        }
      }
      if (j % (M / 2) != 1) continue;
      const States x1 = testing::repeat_row(item.states, j, kRows);
      States x0(kRows, D);
      reversed.sample(kContext, x1, {5, DrawPurpose::kConditional}, 0, x0);
      std::vector<std::size_t> counts(M);
      for (std::size_t i = 0; i < kRows; ++i) {
        ++counts[testing::state_index(x0.row(i), D, item.bridge.num_categories())];
      }
      EXPECT_TRUE(fits(counts, law)) << item.name << ", target " << j;
    }
  }
}

TEST(ChainPotential, RefusesWhatDoesNotFit) {
  const Array3<double> cores(3, 4, 2, 0.0), moves(2, 2, 2, 0.0);
  const auto message = [](auto&& body) { return error_of<InvalidArgument>(body); };
  EXPECT_NE(message([&] { ChainPotential({0.0}, moves, cores); }).find("log_start"),
            std::string::npos);
  EXPECT_NE(message([&] {
              ChainPotential({0.0, 0.0}, Array3<double>(1, 2, 2), cores);
            }).find("log_moves"),
            std::string::npos);
  EXPECT_NE(message([&] {
              ChainPotential({0.0, NAN}, moves, cores);
            }).find("log_start"),
            std::string::npos);
  EXPECT_NE(message([&] {
              ChainPotential({kLogZero, kLogZero}, moves, cores);
            }).find("positive somewhere"),
            std::string::npos);
  EXPECT_NE(message([] { switching_moves(3, 2, 1.5); }).find("switch_rate"), std::string::npos);
  EXPECT_NE(message([] { switching_moves(3, 1, 0.5); }).find("one component"), std::string::npos);
}

}  // namespace
}  // namespace bridgemark
