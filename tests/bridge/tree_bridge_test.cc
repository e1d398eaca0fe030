#include "bridgemark/bridge/tree_bridge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/bridge/reversed_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "tests/io/io_testing.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/random_tree.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;
using testing::error_of;
using testing::fits;
using testing::is_near;
using testing::kContext;
using testing::random_tree;
using testing::Wide;

constexpr int kTreeSteps = 4;

// A tree bridge and what it must be, by sums over all states.
struct TreeCase {
  std::string name;
  TreeBridge bridge;
  Wide step;
  States states = testing::all_states(bridge.dim(), bridge.num_categories());
  std::vector<long double> v = testing::potential_by_states(bridge.potential(), states);

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

std::vector<TreeCase> tree_cases() {
  std::vector<TreeCase> cases;
  const auto add = [&](const char* name, const ReferenceProcess& process, const Wide& step,
                       TreePotential potential) {
    cases.push_back({name, TreeBridge(process, std::move(potential)), step});
  };
  add("halves of a line, D 4", ReferenceProcess::uniform(3, 0.01), testing::uniform_step(3, 0.01),
      random_tree(TreeShape::binary(4), 3, 3, 2.0, 1));
  add("a quadtree of 2 x 2", ReferenceProcess::gaussian(3, 0.4), testing::gaussian_step(3, 0.4),
      random_tree(TreeShape::quadtree(2), 3, 4, 3.0, 2));
  const Matrix<double> matrix = testing::random_stochastic(3, 0.95, 3);
  add("several coordinates a node, nodes without", ReferenceProcess::from_matrix(matrix),
      testing::widen(matrix), random_tree({{-1, 0, 0, 1, 1}, {4, 0, 4, 2}}, 3, 3, 2.0, 3));
  add("one node, D 3", ReferenceProcess::uniform(3, 0.05, 8), testing::uniform_step(3, 0.05),
      random_tree({{-1}, {0, 0, 0}}, 3, 4, 2.0, 4));
  add("sharp", ReferenceProcess::uniform(2, 0.2, 8), testing::uniform_step(2, 0.2),
      random_tree(TreeShape::binary(6), 2, 2, 6.0, 5));
  // Moves that are never made, and a state that cannot be the root's.
  const TreePotential full = random_tree(TreeShape::binary(3), 3, 3, 2.0, 6);
  std::vector<double> root = full.log_root();
  Array3<double> moves = full.log_moves();
  root[1] = moves(0, 0, 2) = moves(1, 2, 2) = moves(3, 0, 1) = kLogZero;
  add("holes", ReferenceProcess::uniform(3, 0.05), testing::uniform_step(3, 0.05),
      {full.shape(), root, moves, full.log_cores()});
  return cases;
}

TEST(TreeShape, CutsLinesAndSquares) {
  EXPECT_EQ(TreeShape::binary(1), TreeShape({-1}, {0}));
  EXPECT_EQ(TreeShape::binary(3), TreeShape({-1, 0, 0, 1, 1}, {3, 4, 2}));
  EXPECT_EQ(TreeShape::binary(64).num_nodes(), 127u);
  EXPECT_EQ(TreeShape::quadtree(2), TreeShape({-1, 0, 0, 0, 0}, {1, 2, 3, 4}));
  EXPECT_EQ(TreeShape::quadtree(8).num_nodes(), 85u);
  // 3 x 3: quarters of 2 x 2, 2 x 1, 1 x 2 and 1 coordinates.
  const TreeShape odd = TreeShape::quadtree(3);
  EXPECT_EQ(odd.parent(), (std::vector<std::int32_t>{-1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(odd.node_of(), (std::vector<std::int32_t>{5, 6, 9, 7, 8, 10, 11, 12, 4}));
  EXPECT_EQ(TreeShape::named("quadtree", 9), odd);
  const auto message = [](auto&& body) { return error_of<InvalidArgument>(body); };
  EXPECT_NE(message([] { TreeShape::named("quadtree", 8); }).find("square"), std::string::npos);
  EXPECT_NE(message([] { TreeShape::named("oak", 8); }).find("'oak'"), std::string::npos);
  EXPECT_NE(message([] { TreeShape({0, 0}, {0}); }).find("begin with -1"), std::string::npos);
  EXPECT_NE(message([] { TreeShape({-1, 1}, {0}); }).find("0..0 for node 1"), std::string::npos);
  EXPECT_NE(message([] { TreeShape({-1, 0}, {2}); }).find("0..1, got 2"), std::string::npos);
  EXPECT_NE(message([] { TreeShape({-1, 0}, {}); }).find("a coordinate"), std::string::npos);
}

TEST(TreeBridge, PotentialsAndNormalisersAreTheSumsOverStates) {
  for (const TreeCase& item : tree_cases()) {
    const std::size_t count = item.states.rows();
    std::vector<double> log_v(count), log_phi(count), expected(count);
    const int total = item.bridge.process().total_steps();
    const auto compare = [&](const std::vector<double>& actual, int rest) {
      const std::vector<long double> phi = item.phi(rest);
      for (std::size_t i = 0; i < count; ++i) expected[i] = static_cast<double>(std::log(phi[i]));
      EXPECT_TRUE(all_near(actual, expected, {1e-12, 1e-12})) << item.name << ", rest " << rest;
    };
    item.bridge.potential().log_value(kContext, item.states, log_v);
    compare(log_v, 0);
    for (int n = 0; n <= kTreeSteps; ++n) {
      item.bridge.log_phi(kContext, kTreeSteps, n, item.states, log_phi);
      compare(log_phi, total / kTreeSteps * (kTreeSteps - n));
    }
  }
}

TEST(TreeBridge, JointAndMarginalsAreThoseOfTheEnumeration) {
  for (const TreeCase& item : tree_cases()) {
    const std::size_t count = item.states.rows(), D = item.states.cols();
    const testing::StatePairs pairs = testing::all_pairs(item.states);
    for (int n = -1; n < kTreeSteps; n += 2) {  // -1: the whole conditional
      const int steps = n < 0 ? 1 : kTreeSteps;
      const Wide law = item.transition(steps, std::max(n, 0));
      std::vector<double> log_q(count * count), expected(count * count);
      item.bridge.log_transition(kContext, steps, std::max(n, 0), pairs.from, pairs.to, log_q);
      for (std::size_t i = 0; i < count * count; ++i) {
        expected[i] = static_cast<double>(std::log(law.data()[i]));
      }
      EXPECT_TRUE(all_near(log_q, expected, {1e-12, 1e-12})) << item.name << ", n " << n;
      Array3<double> marginals;
      item.bridge.log_transition_marginals(kContext, steps, std::max(n, 0), item.states, marginals);
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t d = 0; d < D; ++d) {
          for (int s = 0; s < item.bridge.num_categories(); ++s) {
            long double share = 0.0L;
            for (std::size_t j = 0; j < count; ++j) {
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

TEST(TreeBridge, DrawsFollowTheEnumeration) {
  constexpr std::size_t kRows = 30000;
  for (const TreeCase& item : tree_cases()) {
    const std::size_t count = item.states.rows(), D = item.states.cols(), start = count / 3;
    const States x = testing::repeat_row(item.states, start, kRows);
    for (int n = -1; n < 1; ++n) {
      const int steps = n < 0 ? 1 : kTreeSteps;
      const Wide law = item.transition(steps, std::max(n, 0));
      States drawn(kRows, D);
      item.bridge.sample_transition(kContext, steps, std::max(n, 0), x,
                                    {7, DrawPurpose::kTransition}, 0, drawn);
      std::vector<std::size_t> counts(count);
      std::vector<double> row(count);
      for (std::size_t i = 0; i < kRows; ++i) {
        ++counts[testing::state_index(drawn.row(i), D, item.bridge.num_categories())];
      }
      for (std::size_t j = 0; j < count; ++j) row[j] = static_cast<double>(law(start, j));
      EXPECT_TRUE(fits(counts, row)) << item.name << ", n " << n;
    }
  }
}

// Every coordinate hangs on a node of its own, each below the one before: the chain.
TEST(TreeBridge, APathIsTheChainBridge) {
  const std::size_t D = 6, S = 5, K = 3;
  const TreePotential path = random_tree({{-1, 0, 1, 2, 3, 4}, {0, 1, 2, 3, 4, 5}}, S, K, 4.0, 9);
  const ReferenceProcess process = ReferenceProcess::gaussian(5, 0.2);
  const TreeBridge tree(process, path);
  const ChainBridge chain(process,
                          ChainPotential(path.log_root(), path.log_moves(), path.log_cores()));
  std::mt19937_64 generator(10);
  States x(200, D), y(200, D);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<std::int32_t>(generator() % S);
    y.data()[i] = static_cast<std::int32_t>(generator() % S);
  }
  std::vector<double> a(200), b(200);
  chain.log_conditional(kContext, x, y, a);
  tree.log_conditional(kContext, x, y, b);
  EXPECT_TRUE(all_near(b, a, {1e-13, 1e-13}));
  States of_chain(200, D), of_tree(200, D);
  chain.sample(kContext, x, {3, DrawPurpose::kConditional}, 0, of_chain);
  tree.sample(kContext, x, {3, DrawPurpose::kConditional}, 0, of_tree);
  EXPECT_EQ(of_tree, of_chain);
}

// All coordinates hang on the one node: CP.
TEST(TreeBridge, OneNodeIsTheCpBridge) {
  const std::size_t D = 6, S = 5, K = 3;
  const TreePotential node = random_tree({{-1}, {0, 0, 0, 0, 0, 0}}, S, K, 4.0, 14);
  const ReferenceProcess process = ReferenceProcess::gaussian(5, 0.2);
  const TreeBridge tree(process, node);
  const CpBridge cp(process, CpPotential(node.log_root(), node.log_cores()));
  std::mt19937_64 generator(15);
  States x(200, D), y(200, D);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<std::int32_t>(generator() % S);
    y.data()[i] = static_cast<std::int32_t>(generator() % S);
  }
  std::vector<double> a(200), b(200);
  cp.log_conditional(kContext, x, y, a);
  tree.log_conditional(kContext, x, y, b);
  EXPECT_TRUE(all_near(b, a, {1e-13, 1e-13}));
}

// Weights that leave the range of doubles: the linear way gives up and the exact one answers.
TEST(TreeBridge, ExtremePotentialsStayExact) {
  const std::size_t S = 3, K = 3;
  for (const double rate : {0.0, 1e-12, 0.3}) {
    const TreeShape shape = TreeShape::quadtree(6);
    const TreePotential wild = random_tree(shape, S, K, 400.0, 11);
    const TreePotential potential(shape, {0.0, 0.0, 0.0},
                                  switching_moves(shape.num_nodes(), K, rate), wild.log_cores());
    const TreeBridge bridge(ReferenceProcess::uniform(3, 1e-4), potential);
    std::mt19937_64 generator(12);
    States x(50, 36), drawn(50, 36);
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
    for (std::size_t i = 0; i < marginals.size(); ++i) {
      EXPECT_FALSE(std::isnan(marginals.data()[i]));
    }
  }
}

TEST(TreeBridge, SameDrawsForAnySplitAndThreads) {
  const TreeBridge bridge(ReferenceProcess::gaussian(8, 0.1),
                          random_tree(TreeShape::quadtree(3), 8, 4, 3.0, 12));
  States x(700, 9), whole(700, 9), parts(700, 9);
  std::mt19937_64 generator(13);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<std::int32_t>(generator() % 8);
  }
  const DrawKey key{5, DrawPurpose::kConditional};
  bridge.sample({.num_threads = 3}, x, key, 10, whole);
  const TreeBridge fresh = bridge;
  for (std::size_t first = 0; first < 700; first += 90) {
    const std::size_t rows = std::min<std::size_t>(90, 700 - first);
    fresh.sample({.num_threads = 1}, x.view().slice(first, rows), key, 10 + first,
                 parts.view().slice(first, rows));
  }
  EXPECT_EQ(parts, whole);
}

// Read backwards by the envelope: draws, p1 and marginals against sums over all states.
TEST(TreeBridge, ReversedIsTheEnumeration) {
  constexpr std::size_t kRows = 10000;
  for (const TreeCase& item : tree_cases()) {
    const std::size_t count = item.states.rows(), D = item.states.cols(),
                      S = static_cast<std::size_t>(item.bridge.num_categories());
    std::mt19937_64 generator(21);
    Matrix<double> log_p0(D, S);
    for (std::size_t d = 0; d < D; ++d) {
      for (std::size_t s = 0; s < S; ++s) log_p0(d, s) = 2.0 * testing::unit(generator);
      log_normalize(log_p0.row(d), S);
    }
    const ReversedBridge reversed(kContext, std::make_shared<TreeBridge>(item.bridge), log_p0);
    const int total = item.bridge.process().total_steps();
    const Wide q = testing::lift(testing::power(item.step, total), item.states);
    const std::vector<long double> c = item.phi(total);
    const LogEstimates p1 = reversed.log_p1(kContext, item.states, 3, 0.02);
    const MarginalEstimates marginals =
        reversed.estimate_marginals(kContext, item.states.view().slice(0, 1), 2000);
    for (std::size_t j = 0; j < count; ++j) {
      std::vector<double> law(count);
      long double sum = 0.0L;
      for (std::size_t i = 0; i < count; ++i) {
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
      if (j == 0) {
        for (std::size_t d = 0; d < D; ++d) {
          for (std::size_t s = 0; s < S; ++s) {
            double share = 0.0;
            for (std::size_t i = 0; i < count; ++i) {
              if (static_cast<std::size_t>(item.states(i, d)) == s) share += law[i];
            }
            EXPECT_NEAR(marginals.probability(j, d, s), share,
                        6.0 * marginals.standard_error(j, d, s))
                << item.name;
          }
        }
      }
      if (j != 1) continue;
      const States x1 = testing::repeat_row(item.states, j, kRows);
      States x0(kRows, D);
      reversed.sample(kContext, x1, {5, DrawPurpose::kConditional}, 0, x0);
      std::vector<std::size_t> counts(count);
      for (std::size_t i = 0; i < kRows; ++i) {
        ++counts[testing::state_index(x0.row(i), D, item.bridge.num_categories())];
      }
      EXPECT_TRUE(fits(counts, law)) << item.name << ", target " << j;
    }
  }
}

TEST(TreePotential, RefusesWhatDoesNotFit) {
  const TreeShape shape = TreeShape::binary(2);
  const Array3<double> cores(2, 4, 2, 0.0), moves(2, 2, 2, 0.0);
  const auto message = [](auto&& body) { return error_of<InvalidArgument>(body); };
  EXPECT_NE(message([&] { TreePotential(shape, {0.0}, moves, cores); }).find("log_root"),
            std::string::npos);
  EXPECT_NE(message([&] {
              TreePotential(shape, {0.0, 0.0}, Array3<double>(3, 2, 2), cores);
            }).find("log_moves"),
            std::string::npos);
  EXPECT_NE(message([&] {
              TreePotential(TreeShape::binary(3), {0.0, 0.0}, moves, cores);
            }).find("2 coordinates like log_cores, got 3"),
            std::string::npos);
  EXPECT_NE(message([&] {
              TreePotential(shape, {0.0, NAN}, moves, cores);
            }).find("log_root"),
            std::string::npos);
  EXPECT_NE(message([&] {
              TreePotential(shape, {kLogZero, kLogZero}, moves, cores);
            }).find("positive somewhere"),
            std::string::npos);
}

}  // namespace
}  // namespace bridgemark
