#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/bridge/path_posteriors.h"
#include "bridgemark/bridge/reversed_bridge.h"
#include "bridgemark/bridge/source_law.h"
#include "bridgemark/bridge/tilted_chain.h"
#include "bridgemark/bridge/tree_bridge.h"
#include "bridgemark/core/error.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/random_chain.h"
#include "tests/support/random_tree.h"
#include "tests/support/tolerance.h"

// A hidden chain as the law of x0, against sums over all states and all paths.
namespace bridgemark {
namespace {

using testing::all_near;
using testing::fits;
using testing::is_near;
using testing::kContext;
using testing::random_chain;

std::vector<double> chain_probabilities(const ChainPotential& chain, const States& states) {
  const std::vector<long double> v = testing::potential_by_paths(chain, states);
  long double total = 0.0L;
  for (const long double value : v) total += value;
  std::vector<double> p(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) p[i] = static_cast<double>(v[i] / total);
  return p;
}

// The chain's tables on both scales, as PathPosteriors asks for them.
struct ScaledTables {
  std::vector<double> start, moves, emission;
  double log_scale = 0.0;
  HiddenChain chain{};

  explicit ScaledTables(const ChainPotential& potential) {
    const std::size_t D = potential.dim(), K = potential.num_components(),
                      S = potential.log_cores().extent(1);
    const auto add = [](const double* log, std::size_t count, double high,
                        std::vector<double>& out) {
      for (std::size_t i = 0; i < count; ++i) out.push_back(std::exp(log[i] - high));
    };
    const auto& log_start = potential.log_start();
    log_scale = *std::max_element(log_start.begin(), log_start.end());
    add(log_start.data(), K, log_scale, start);
    for (std::size_t d = 0; d + 1 < D; ++d) {
      const double* log = potential.log_moves().row(d, 0);
      const double high = *std::max_element(log, log + K * K) + std::log(static_cast<double>(K));
      add(log, K * K, high, moves);
      log_scale += high;
    }
    for (std::size_t i = 0; i < D * S; ++i) {
      const double* log = potential.log_cores().data() + i * K;
      add(log, K, *std::max_element(log, log + K), emission);
    }
    chain = {D,
             S,
             K,
             log_start.data(),
             start.data(),
             potential.log_moves().data(),
             moves.data(),
             potential.log_cores().data(),
             emission.data()};
  }
};

// Spreads of e^3 stay linear; those of e^400 leave what a double can hold.
TEST(PathPosteriors, AreTheSharesOfPaths) {
  for (const double spread : {3.0, 400.0}) {
    const ChainPotential potential = random_chain(4, 3, 3, spread, 51);
    const ScaledTables tables(potential);
    const States states = testing::all_states(4, 3), paths = testing::all_states(4, 3);
    PathPosteriors posteriors(4, 3);
    for (std::size_t x = 0; x < states.rows(); x += 5) {
      std::vector<long double> log_weights(paths.rows());
      long double high = -1e300L, total = 0.0L;
      for (std::size_t p = 0; p < paths.rows(); ++p) {
        for (std::size_t d = 0; d < 4; ++d) {
          const auto k = static_cast<std::size_t>(paths(p, d));
          log_weights[p] +=
              d == 0 ? potential.log_start()[k]
                     : potential.log_moves()(d - 1, static_cast<std::size_t>(paths(p, d - 1)), k);
          log_weights[p] += potential.log_cores()(d, static_cast<std::size_t>(states(x, d)), k);
        }
        high = std::max(high, log_weights[p]);
      }
      for (const long double value : log_weights) total += std::exp(value - high);
      const double log_total = posteriors.pass(tables.chain, states.row(x), tables.log_scale);
      EXPECT_TRUE(is_near(log_total, static_cast<double>(high + std::log(total)), {1e-12, 1e-12}));
      for (std::size_t d = 0; d < 4; ++d) {
        std::vector<double> of_states(3), of_moves(9), moves(9);
        for (std::size_t p = 0; p < paths.rows(); ++p) {
          const auto share = static_cast<double>(std::exp(log_weights[p] - high) / total);
          const auto k = static_cast<std::size_t>(paths(p, d));
          of_states[k] += share;
          if (d < 3) of_moves[k * 3 + static_cast<std::size_t>(paths(p, d + 1))] += share;
        }
        for (std::size_t k = 0; k < 3; ++k) {
          EXPECT_NEAR(posteriors.states(d)[k], of_states[k], 1e-11) << spread;
        }
        if (d == 3) continue;
        posteriors.add_moves(tables.chain, states.row(x), d, moves.data());
        for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(moves[i], of_moves[i], 1e-11) << spread;
      }
    }
  }
}

// Many coordinates and states whose moves are even: neither the sums nor the bound on what they
// lose may grow out of range.
TEST(PathPosteriors, OfALongRowAreFinite) {
  constexpr std::size_t D = 2000;
  const ChainPotential potential(std::vector<double>(16, std::log(1.0 / 16.0)),
                                 Array3<double>(D - 1, 16, 16, std::log(1.0 / 16.0)),
                                 Array3<double>(D, 2, 16, std::log(0.5)));
  const ScaledTables tables(potential);
  const States x(1, D);
  PathPosteriors posteriors(D, 16);
  EXPECT_NEAR(posteriors.pass(tables.chain, x.row(0), tables.log_scale),
              -static_cast<double>(D) * std::log(2.0), 1e-8);
  for (std::size_t d = 0; d < D; d += 333) {
    EXPECT_NEAR(posteriors.states(d)[3], 1.0 / 16.0, 1e-10);
  }
}

TEST(SourceLaw, OfAChainIsItsPotentialNormalised) {
  for (const std::size_t D : {1, 2, 4}) {
    const ChainPotential potential = random_chain(D, 3, 4, 2.0, 52 + D);
    const States states = testing::all_states(D, 3);
    const std::vector<double> p = chain_probabilities(potential, states);
    const SourceLaw law(potential);
    const SourceChain chain(potential);
    std::vector<double> log_p(states.rows()), expected(states.rows());
    law.log_probability(kContext, states, log_p);
    Matrix<double> around, marginals(D, 3), of_chain = chain.marginals();
    for (std::size_t i = 0; i < states.rows(); ++i) {
      expected[i] = std::log(p[i]);
      EXPECT_TRUE(is_near(chain.log_probability(states.row(i)), expected[i], {1e-12, 1e-12}));
      chain.log_around(states.row(i), around);
      for (std::size_t d = 0; d < D; ++d) {
        marginals(d, static_cast<std::size_t>(states(i, d))) += p[i];
        for (int s = 0; s < 3; ++s) {
          States other(1, D, {states.row(i), states.row(i) + D});
          other(0, d) = s;
          const double difference = around(d, static_cast<std::size_t>(s)) -
                                    around(d, static_cast<std::size_t>(states(i, d)));
          const double ratio = p[testing::state_index(other.row(0), D, 3)] / p[i];
          EXPECT_NEAR(difference, std::log(ratio), 1e-11);
        }
      }
    }
    EXPECT_TRUE(all_near(log_p, expected, {1e-12, 1e-12})) << D;
    for (std::size_t i = 0; i < marginals.size(); ++i) {
      EXPECT_NEAR(of_chain.data()[i], marginals.data()[i], 1e-12) << D;
    }
  }
}

// Also where the tilt all but rules a state's categories out.
TEST(TiltedChain, IsTheChainTimesTheProduct) {
  for (const double spread : {2.0, 600.0}) {
    constexpr std::size_t kRows = 20000;
    const ChainPotential potential = random_chain(3, 4, 3, 2.0, 57);
    const States states = testing::all_states(3, 4);
    std::vector<double> p = chain_probabilities(potential, states);
    std::mt19937_64 generator(58);
    const Array3<double> tilt = testing::random_array(1, 3, 4, spread, generator);
    const Matrix<double> log_tilt(3, 4, {tilt.data(), tilt.data() + tilt.size()});
    std::vector<double> log_weights(p.size());
    double high = kLogZero, total = 0.0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      log_weights[i] = std::log(p[i]);
      for (std::size_t d = 0; d < 3; ++d) {
        log_weights[i] += log_tilt(d, static_cast<std::size_t>(states(i, d)));
      }
      high = std::max(high, log_weights[i]);
    }
    for (std::size_t i = 0; i < p.size(); ++i) total += p[i] = std::exp(log_weights[i] - high);
    for (double& value : p) value /= total;
    TiltedChain tilted(std::make_shared<const SourceChain>(potential));
    EXPECT_NEAR(tilted.set(log_tilt), high + std::log(total), 1e-11 * spread);
    Matrix<double> marginals(3, 4), expected(3, 4);
    tilted.marginals(marginals);
    for (std::size_t i = 0; i < p.size(); ++i) {
      for (std::size_t d = 0; d < 3; ++d) {
        expected(d, static_cast<std::size_t>(states(i, d))) += p[i];
      }
    }
    for (std::size_t i = 0; i < marginals.size(); ++i) {
      EXPECT_NEAR(marginals.data()[i], expected.data()[i], 1e-11) << spread;
    }
    std::vector<std::size_t> counts(p.size());
    std::vector<double> scratch(4 * 3 + 3);
    std::vector<std::int32_t> x(3);
    for (std::size_t i = 0; i < kRows; ++i) {
      DrawSequence draws({1, DrawPurpose::kSource}, i);
      tilted.draw_path(draws, x.data(), scratch.data());
      for (std::size_t d = 0; d < 3; ++d) {
        x[d] = static_cast<std::int32_t>(tilted.draw(d, x[d], draws.uniform()));
      }
      ++counts[testing::state_index(x.data(), 3, 4)];
    }
    EXPECT_TRUE(fits(counts, p)) << spread;
  }
}

// A bridge whose law of x0 is a chain, and the law of both ends by enumeration.
struct ChainSourceCase {
  std::string name;
  std::shared_ptr<const Bridge> bridge;
  ChainPotential source;
  States states;
  std::vector<double> joint, p1;  // [x0,x1], [x1]

  ChainSourceCase(std::string label, std::shared_ptr<const Bridge> of, ChainPotential law)
      : name(std::move(label)),
        bridge(std::move(of)),
        source(std::move(law)),
        states(testing::all_states(bridge->dim(), bridge->num_categories())),
        joint(states.rows() * states.rows()),
        p1(states.rows()) {
    const testing::StatePairs pairs = testing::all_pairs(states);
    bridge->log_conditional(kContext, pairs.from, pairs.to, joint);
    const std::vector<double> p0 = chain_probabilities(source, states);
    for (std::size_t i = 0; i < joint.size(); ++i) {
      joint[i] = std::exp(joint[i]) * p0[i / p1.size()];
      p1[i % p1.size()] += joint[i];
    }
  }
};

// All forms of potentials, D from 2 to 4, few components and more than there are groups of them.
std::vector<ChainSourceCase> chain_source_cases() {
  std::vector<ChainSourceCase> cases;
  const auto add = [&](std::string name, std::shared_ptr<const Bridge> bridge, double spread,
                       std::uint64_t seed) {
    const std::size_t D = bridge->dim(), S = bridge->log_cores().extent(1);
    cases.emplace_back(std::move(name), std::move(bridge), random_chain(D, S, 3, spread, seed));
  };
  const auto cp = [](ReferenceProcess process, testing::Wide step, testing::CaseShape shape) {
    return std::make_shared<const CpBridge>(
        testing::make_case("", std::move(process), std::move(step), shape, 61).bridge);
  };
  const Matrix<double> matrix = testing::random_stochastic(3, 0.97, 62);
  add("gaussian, D 2, CP",
      cp(ReferenceProcess::gaussian(5, 0.3), testing::gaussian_step(5, 0.3), {2, 5, 4, 3.0}), 3.0,
      63);
  add("matrix, D 3, CP",
      cp(ReferenceProcess::from_matrix(matrix), testing::widen(matrix), {3, 3, 6, 4.0}), 2.0, 64);
  add("uniform, D 4, many components",
      cp(ReferenceProcess::uniform(3, 0.01), testing::uniform_step(3, 0.01), {4, 3, 90, 2.0}), 2.0,
      65);
  add("matrix, D 4, chain",
      std::make_shared<const ChainBridge>(ReferenceProcess::from_matrix(matrix),
                                          random_chain(4, 3, 3, 2.0, 66)),
      2.0, 67);
  add("matrix, D 4, tree",
      std::make_shared<const TreeBridge>(
          ReferenceProcess::from_matrix(matrix),
          testing::random_tree(TreeShape::quadtree(2), 3, 3, 2.0, 68)),
      2.0, 69);
  return cases;
}

TEST(ReverseOfAChainSource, DrawsFollowTheEnumeration) {
  constexpr std::size_t kRows = 20000;
  for (const ChainSourceCase& item : chain_source_cases()) {
    const ReversedBridge reversed(kContext, item.bridge, item.source);
    const std::size_t M = item.states.rows();
    const std::vector<double> acceptance = reversed.acceptance(kContext, item.states, 100);
    const auto least = static_cast<std::size_t>(
        std::min_element(acceptance.begin(), acceptance.end()) - acceptance.begin());
    for (const std::size_t target : {least, M / 2}) {
      const States x1 = testing::repeat_row(item.states, target, kRows);
      States x0(kRows, x1.cols());
      reversed.sample(kContext, x1, {5, DrawPurpose::kConditional}, 0, x0);
      std::vector<std::size_t> counts(M);
      std::vector<double> law(M);
      for (std::size_t i = 0; i < kRows; ++i) {
        ++counts[testing::state_index(x0.row(i), x0.cols(), reversed.num_categories())];
      }
      for (std::size_t i = 0; i < M; ++i) law[i] = item.joint[i * M + target] / item.p1[target];
      EXPECT_TRUE(fits(counts, law))
          << item.name << ", target " << target << ", acceptance " << acceptance[target];
    }
  }
}

TEST(ReverseOfAChainSource, JointAndP1AreBayesRule) {
  for (const ChainSourceCase& item : chain_source_cases()) {
    const ReversedBridge reversed(kContext, item.bridge, item.source);
    const std::size_t M = item.states.rows();
    const testing::StatePairs pairs = testing::all_pairs(item.states);  // x1, x0
    std::vector<double> log_joint(M * M), expected(M * M);
    reversed.log_joint(kContext, pairs.from, pairs.to, log_joint);
    for (std::size_t i = 0; i < M * M; ++i) expected[i] = std::log(item.joint[i % M * M + i / M]);
    EXPECT_TRUE(all_near(log_joint, expected, {1e-11, 1e-11})) << item.name;
    const LogEstimates p1 = reversed.log_p1(kContext, item.states, 0, 0.02);
    const std::vector<double> acceptance = reversed.acceptance(kContext, item.states, 300);
    for (std::size_t j = 0; j < M; ++j) {
      EXPECT_NEAR(std::exp(p1.value[j]) / item.p1[j], 1.0, 6.0 * p1.standard_error[j])
          << item.name << ", state " << j;
      EXPECT_LE(acceptance[j], 1.0 + 1e-12);
    }
  }
}

TEST(ReverseOfAChainSource, MarginalsAreWithinTheirErrors) {
  for (const ChainSourceCase& item : chain_source_cases()) {
    const ReversedBridge reversed(kContext, item.bridge, item.source);
    const std::size_t M = item.states.rows(), rows = 4;
    const MarginalEstimates estimates =
        reversed.estimate_marginals(kContext, item.states.view().slice(0, rows), 1000, 4);
    for (std::size_t j = 0; j < rows; ++j) {
      Matrix<double> expected(item.states.cols(),
                              static_cast<std::size_t>(item.bridge->num_categories()));
      for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t d = 0; d < item.states.cols(); ++d) {
          expected(d, static_cast<std::size_t>(item.states(i, d))) +=
              item.joint[i * M + j] / item.p1[j];
        }
      }
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(estimates.probability.row(j, 0)[i], expected.data()[i],
                    6.0 * estimates.standard_error.row(j, 0)[i])
            << item.name;
      }
    }
  }
}

TEST(ReverseOfAChainSource, SameDrawsForAnySplitAndThreads) {
  const ChainSourceCase item = chain_source_cases()[1];
  const ReversedBridge reversed(kContext, item.bridge, item.source);
  const DrawKey key{9, DrawPurpose::kConditional};
  States whole(item.states.rows(), 3), parts(item.states.rows(), 3);
  reversed.sample(kContext, item.states, key, 40, whole);
  Context three;
  three.num_threads = 3;
  for (std::size_t first = 0; first < whole.rows(); first += 9) {
    const std::size_t rows = std::min<std::size_t>(9, whole.rows() - first);
    reversed.sample(three, item.states.view().slice(first, rows), key, 40 + first,
                    parts.view().slice(first, rows));
  }
  EXPECT_EQ(parts, whole);
}

TEST(ReverseOfAChainSource, RefusesAnotherSpace) {
  const ChainSourceCase item = chain_source_cases()[1];
  EXPECT_THROW(ReversedBridge(kContext, item.bridge, random_chain(2, 3, 2, 1.0, 1)),
               InvalidArgument);
  EXPECT_THROW(item.bridge->with_source(random_chain(3, 4, 2, 1.0, 1)), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
