#include "bridgemark/pair/reverse_truth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/pair/two_sided.h"
#include "tests/io/io_testing.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/small_pair.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;
using testing::BridgeCase;
using testing::fits;
using testing::kContext;
using testing::Wide;

constexpr int kSteps = 4;

// f of a two-sided pair on the space of a bridge.
CpPotential random_potential(std::size_t D, std::size_t S, std::size_t J, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> log_beta(J);
  for (double& value : log_beta) value = testing::unit(generator);
  Array3<double> log_cores(D, S, J);
  for (std::size_t i = 0; i < log_cores.size(); ++i) {
    log_cores.data()[i] = 3.0 * testing::unit(generator);
  }
  return {std::move(log_beta), std::move(log_cores)};
}

// A pair and the law of its two ends, [x0, x1] of the forward direction, by enumeration.
struct PairCase {
  std::string name;
  BenchmarkPair pair;
  testing::DenseOracle oracle;
  Wide joint;
};

// Two-sided pairs, a p0 of observed states and one that lists the space.
std::vector<PairCase> pair_cases() {
  std::vector<PairCase> cases;
  std::uint64_t seed = 50;
  for (BridgeCase& item : testing::small_bridges()) {
    const States& states = item.oracle.states();
    const std::size_t M = states.rows(), D = states.cols(),
                      S = static_cast<std::size_t>(item.bridge.num_categories());
    // f(x0) Q(x1|x0) v(x1) / Z, without any formula of the library.
    const CpPotential f = random_potential(D, S, 3, ++seed);
    std::vector<double> log_f(M);
    f.log_value(kContext, states, log_f);
    Wide joint = item.oracle.reference(item.total_steps);
    long double total = 0.0L;
    for (std::size_t i = 0; i < M; ++i) {
      for (std::size_t j = 0; j < M; ++j) {
        joint(i, j) *= std::exp(static_cast<long double>(log_f[i])) * item.oracle.potential()[j];
        total += joint(i, j);
      }
    }
    for (std::size_t i = 0; i < M * M; ++i) joint.data()[i] /= total;
    cases.push_back({item.name + ", two-sided",
                     BenchmarkPair::two_sided({"t", 1, seed}, f, item.bridge), item.oracle, joint});
    // One-sided: p0 of a few states, one of them twice; p0 by its coordinates.
    States observed(4, D);
    for (std::size_t d = 0; d < D; ++d) {
      observed(1, d) = 1;
      observed(2, d) = static_cast<std::int32_t>(S - 1);
      observed(3, d) = static_cast<std::int32_t>(S - 1);
    }
    const Matrix<double> pmf(D, S, std::vector<double>(D * S, 1.0 / static_cast<double>(S)));
    for (const SourceDistribution& source :
         {SourceDistribution::empirical(observed, item.bridge.num_categories()),
          SourceDistribution::product(pmf)}) {
      std::vector<double> log_p0(M);
      source.log_probability(states, log_p0);
      Wide one_sided = item.oracle.conditional();
      for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t j = 0; j < M; ++j) {
          one_sided(i, j) *= std::exp(static_cast<long double>(log_p0[i]));
        }
      }
      cases.push_back({item.name + ", " + std::string(source_kind_name(source.kind())),
                       BenchmarkPair({"o", 1, seed}, source, item.bridge), item.oracle,
                       std::move(one_sided)});
    }
  }
  return cases;
}

// The law of x1 or, by columns, of x0.
std::vector<double> end_law(const Wide& joint, bool first) {
  std::vector<double> law(joint.rows());
  for (std::size_t i = 0; i < joint.rows(); ++i) {
    for (std::size_t j = 0; j < joint.cols(); ++j) {
      law[first ? i : j] += static_cast<double>(joint(i, j));
    }
  }
  return law;
}

TEST(ReverseTruth, EndsAreTheClosedForms) {
  for (const PairCase& item : pair_cases()) {
    const States& states = item.oracle.states();
    for (const bool reverse : {false, true}) {
      const BenchmarkPair pair = reverse ? item.pair.reversed() : item.pair;
      std::vector<double> first = end_law(item.joint, !reverse),
                          second = end_law(item.joint, reverse);
      for (double& value : first) value = std::log(value);
      for (double& value : second) value = std::log(value);
      const LogEstimates p0 = pair.log_p0(kContext, states), p1 = pair.log_p1(kContext, states);
      EXPECT_TRUE(all_near(p0.value, first, {1e-12, 1e-12})) << item.name << reverse;
      EXPECT_TRUE(all_near(p1.value, second, {1e-12, 1e-12})) << item.name << reverse;
      for (const double error : p1.standard_error) EXPECT_EQ(error, 0.0);
    }
  }
}

TEST(ReverseTruth, ConditionalsOfBothDirections) {
  for (const PairCase& item : pair_cases()) {
    const std::size_t M = item.joint.rows();
    const testing::StatePairs pairs = testing::all_pairs(item.oracle.states());
    for (const bool reverse : {false, true}) {
      const BenchmarkPair pair = reverse ? item.pair.reversed() : item.pair;
      const std::vector<double> start = end_law(item.joint, !reverse);
      std::vector<double> log_q(M * M);
      const auto truth = pair.require_truth(kContext);
      truth->log_conditional(kContext, pairs.from, pairs.to, log_q);
      for (std::size_t i = 0; i < M; ++i) {
        if (start[i] == 0.0) continue;  // p0 of observed states
        for (std::size_t j = 0; j < M; ++j) {
          const long double joint = reverse ? item.joint(j, i) : item.joint(i, j);
          EXPECT_TRUE(testing::is_near(
              log_q[i * M + j], static_cast<double>(std::log(joint / start[i])), {1e-12, 1e-11}))
              << item.name << reverse;
        }
      }
      EXPECT_TRUE(truth->has_marginals());
      EXPECT_TRUE(truth->has_transitions(1));
    }
  }
}

// q*(x_n | x_{n+1}) by Bayes' rule from the forward chain.
TEST(ReverseTruth, TransitionsRunTheChainBackwards) {
  for (const PairCase& item : pair_cases()) {
    if (!item.pair.bridge().has_transitions(kSteps)) continue;
    const std::size_t M = item.joint.rows();
    const States& states = item.oracle.states();
    const auto truth = item.pair.reversed().require_truth(kContext);
    std::vector<long double> law(M);
    for (std::size_t i = 0; i < M; ++i) {
      for (std::size_t j = 0; j < M; ++j) law[i] += item.joint(i, j);
    }
    for (int n = 0; n < kSteps; ++n) {
      const Wide step = item.oracle.transition(kSteps, n);
      std::vector<long double> next(M);
      Wide backwards(M, M);
      for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t j = 0; j < M; ++j) next[j] += law[i] * step(i, j);
      }
      for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t j = 0; j < M; ++j) {
          backwards(j, i) = next[j] > 0.0L ? law[i] * step(i, j) / next[j] : 0.0L;
        }
      }
      Array3<double> log_marginals;
      truth->log_transition_marginals(kContext, kSteps, kSteps - 1 - n, states, log_marginals);
      const Array3<long double> expected = item.oracle.marginals(backwards);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (next[i / (expected.size() / M)] == 0.0L) continue;  // a state that never occurs
        EXPECT_TRUE(testing::is_near(std::exp(log_marginals.data()[i]),
                                     static_cast<double>(expected.data()[i]), {1e-11, 1e-12}))
            << item.name << ", step " << n;
      }
      law = next;
    }
  }
}

TEST(ReverseTruth, DrawsOfATwoSidedPair) {
  constexpr std::size_t kRows = 40000;
  const PairCase item = std::move(pair_cases()[3]);  // 64 states, two-sided, not symmetric
  const States& states = item.oracle.states();
  const std::size_t M = states.rows(), D = states.cols();
  const int S = item.pair.num_categories();
  const auto count = [&](const States& drawn) {
    std::vector<std::size_t> counts(M);
    for (std::size_t i = 0; i < drawn.rows(); ++i) {
      ++counts[testing::state_index(drawn.row(i), D, S)];
    }
    return counts;
  };
  EXPECT_TRUE(fits(count(item.pair.sample_x0(kContext, kRows, 1)), end_law(item.joint, true)));
  EXPECT_TRUE(fits(count(item.pair.sample_x1(kContext, kRows, 1)), end_law(item.joint, false)));
  const PairedStates joint = item.pair.sample_joint(kContext, kRows, 2);
  std::vector<std::size_t> counts(M * M);
  std::vector<double> law(M * M);
  for (std::size_t i = 0; i < M * M; ++i) law[i] = static_cast<double>(item.joint.data()[i]);
  for (std::size_t i = 0; i < kRows; ++i) {
    ++counts[testing::state_index(joint.x0.row(i), D, S) * M +
             testing::state_index(joint.x1.row(i), D, S)];
  }
  EXPECT_TRUE(fits(counts, law));
  // Backwards from x1 the coupling is the same.
  const States back = item.pair.reversed().sample_conditional(kContext, joint.x1, 5);
  std::fill(counts.begin(), counts.end(), std::size_t{0});
  for (std::size_t i = 0; i < kRows; ++i) {
    ++counts[testing::state_index(back.row(i), D, S) * M +
             testing::state_index(joint.x1.row(i), D, S)];
  }
  EXPECT_TRUE(fits(counts, law));
}

// In 64 dimensions, where nothing can be listed: x0 drawn backwards from x1 has the law of p0
// again, each coordinate's and that of all pairs of neighbours.
TEST(ReverseTruth, BackwardsDrawsLeadBackToP0) {
  constexpr std::size_t kRows = 4000;
  for (const char* name : {"d64-gaussian-0.05-spread", "d64-uniform-0.005"}) {
    const BenchmarkPair pair = load_pair(name);
    const States x1 = pair.sample_x1(kContext, kRows, 3);
    const States x0 = pair.reversed().sample_conditional(kContext, x1, 4);
    const Matrix<double>& log_pmf = pair.source().log_pmf();
    for (std::size_t d = 0; d < pair.dim(); ++d) {
      std::vector<std::size_t> counts(50), sums(3);
      std::vector<double> law(50), sum_law(3);
      for (std::size_t i = 0; i < kRows; ++i) ++counts[static_cast<std::size_t>(x0(i, d))];
      for (std::size_t s = 0; s < 50; ++s) law[s] = std::exp(log_pmf(d, s));
      EXPECT_TRUE(fits(counts, law)) << name << ", coordinate " << d;
      // Neighbours are independent: how many of two lie in the upper half.
      const std::size_t next = (d + 1) % pair.dim();
      for (std::size_t i = 0; i < kRows; ++i) {
        ++sums[static_cast<std::size_t>((x0(i, d) >= 25) + (x0(i, next) >= 25))];
      }
      double upper = 0.0;
      for (std::size_t s = 25; s < 50; ++s) upper += law[s];
      sum_law = {(1.0 - upper) * (1.0 - upper), 2.0 * upper * (1.0 - upper), upper * upper};
      EXPECT_TRUE(fits(sums, sum_law)) << name << ", coordinates " << d << " and " << next;
    }
  }
}

// A space beyond the list is answered by the envelope; just below it by the closed form.
TEST(ReverseTruth, ListsSmallSpacesOnly) {
  PairSpec spec = testing::small_spec();
  spec.reverse = true;
  spec.dim = 4;  // 1296 states
  EXPECT_TRUE(build_pair(spec).require_truth(kContext)->has_marginals());
  PairSpec chain = spec;
  chain.family = PairFamily::kChain;
  chain.num_categories = 12;  // 20736 states, of a chain potential
  EXPECT_FALSE(build_pair(chain).require_truth(kContext)->has_marginals());
  spec.dim = 5;  // 7776 states
  const BenchmarkPair large = build_pair(spec);
  EXPECT_FALSE(large.require_truth(kContext)->has_marginals());
  EXPECT_FALSE(large.require_truth(kContext)->has_transitions(4));
  const States x0 = large.sample_x0(kContext, 3, 1);
  EXPECT_GT(large.log_p0(kContext, x0).standard_error[0], 0.0);
  EXPECT_EQ(large.log_p1(kContext, x0).standard_error[0], 0.0);
  EXPECT_EQ(large.sample_trajectory(kContext, 4, x0, 1).extent(1), 5u);
  EXPECT_THROW(large.sample_trajectory(kContext, 4, x0, 1, 0, BenchmarkPair::Through::kMarkov),
               InvalidArgument);
  EXPECT_GT(large.estimate_marginals(kContext, x0, 100).standard_error(0, 0, 0), 0.0);
}

TEST(ReverseTruth, TooManyObservedStatesHaveNone) {
  PairSpec spec = testing::small_spec();
  spec.dim = 1400;
  spec.reverse = true;
  spec.source = SourceDistribution::empirical(States(2001, 1400), 6);
  const BenchmarkPair pair = build_pair(spec);
  EXPECT_EQ(pair.truth(kContext), nullptr);
  EXPECT_THROW(pair.require_truth(kContext), InvalidArgument);
  EXPECT_THROW(pair.log_p0(kContext, States(1, 1400)), InvalidArgument);
}

TEST(TwoSidedPairs, ComponentsOfBothEndsHaveEvenShares) {
  for (const char* name : {"d2-uniform-0.01-twosided", "d64-gaussian-0.02-twosided"}) {
    const BenchmarkPair pair = load_pair(name);
    const CpPotential& f = *pair.source_potential();
    const CpPotential& v = pair.cp_bridge().potential();
    const ReferenceChain chain(pair.bridge().process(), 1);
    const CpPotential joint =
        product(f, {v.log_beta(), pair.bridge().propagated_cores(kContext, chain, 0)});
    const double log_total = joint.log_total();
    for (std::size_t j = 0; j < 4; ++j) {
      // The share of component j of f, and of component j of v.
      std::vector<double> source(4), target(4);
      for (std::size_t k = 0; k < 4; ++k) {
        for (const bool first : {true, false}) {
          const std::size_t m = first ? j * 4 + k : k * 4 + j;
          double log_weight = joint.log_beta()[m];
          for (std::size_t d = 0; d < pair.dim(); ++d) {
            log_weight += log_sum(joint.log_cores().row(d, 0) + m, 50, 16);
          }
          (first ? source : target)[k] = log_weight - log_total;
        }
      }
      EXPECT_NEAR(std::exp(log_sum(source.data(), 4)), 0.25, 1e-5) << name;
      EXPECT_NEAR(std::exp(log_sum(target.data(), 4)), 0.25, 1e-5) << name;
    }
  }
}

// Spread trees whose ends share one shape.
PairSpec tree_spec(TreeShape tree) {
  PairSpec spec;
  spec.family = PairFamily::kTree;
  spec.two_sided = true;
  spec.dim = static_cast<int>(tree.dim());
  spec.num_components = 3;
  spec.gamma = 0.05;
  spec.tree = std::move(tree);
  spec.seed = 7;
  return spec;
}

TEST(TwoSidedTrees, StatesOfBothEndsFallEvenlyAtEachNode) {
  for (const TreeShape& shape :
       {TreeShape::quadtree(4), TreeShape::binary(5), TreeShape({-1, 0, 0, 1}, {3, 0, 3, 2, 2}),
        TreeShape({-1}, {0, 0})}) {
    const BenchmarkPair pair = build_pair(tree_spec(shape));
    const auto& bridge = dynamic_cast<const TreeBridge&>(pair.bridge());
    const TreePotential law = as_law(product(*pair.source_tree(), bridge.normalizer(kContext)));
    const std::size_t K = 3;
    Matrix<double> node(shape.num_nodes(), K * K);  // P(z_i = (j, k))
    for (std::size_t i = 0; i < node.rows(); ++i) {
      for (std::size_t e = 0; e < K * K; ++e) {
        if (i == 0) node(i, e) = std::exp(law.log_root()[e]);
        for (std::size_t from = 0; i > 0 && from < K * K; ++from) {
          node(i, e) += node(static_cast<std::size_t>(shape.parent()[i]), from) *
                        std::exp(law.log_moves()(i - 1, from, e));
        }
      }
      for (std::size_t j = 0; j < K; ++j) {
        double of_source = 0.0, of_target = 0.0;
        for (std::size_t k = 0; k < K; ++k) {
          of_source += node(i, j * K + k);
          of_target += node(i, k * K + j);
        }
        EXPECT_NEAR(of_source, 1.0 / K, 1e-5) << "node " << i << " of " << node.rows();
        EXPECT_NEAR(of_target, 1.0 / K, 1e-5) << "node " << i << " of " << node.rows();
      }
    }
  }
}

// One node with all coordinates is the mixture: the same laws of both ends and between them.
TEST(TwoSidedTrees, OneNodeIsTheMixture) {
  const CpPotential f = random_potential(3, 4, 2, 5), v = random_potential(3, 4, 3, 6);
  const TreeShape one({-1}, {0, 0, 0});
  const ReferenceProcess process = ReferenceProcess::gaussian(4, 0.3);
  const auto tree = [&](const CpPotential& potential) {
    return TreePotential(one, potential.log_beta(), {}, potential.log_cores());
  };
  const BenchmarkPair mixture = BenchmarkPair::two_sided({"m"}, f, CpBridge(process, v)),
                      trees =
                          BenchmarkPair::two_sided({"t"}, tree(f), TreeBridge(process, tree(v)));
  const States states = testing::all_states(3, 4);
  EXPECT_TRUE(all_near(trees.log_p0(kContext, states).value, mixture.log_p0(kContext, states).value,
                       {1e-13, 1e-12}));
  EXPECT_TRUE(all_near(trees.log_p1(kContext, states).value, mixture.log_p1(kContext, states).value,
                       {1e-13, 1e-12}));
  const Matrix<double> marginals = trees.source().log_marginals(),
                       expected = mixture.source().log_marginals();
  EXPECT_TRUE(all_near({marginals.data(), marginals.data() + marginals.size()},
                       {expected.data(), expected.data() + expected.size()}, {1e-13, 1e-12}));
  std::vector<double> back(64), of_mixture(64);
  const States shifted = testing::all_states(3, 4);
  trees.reversed().require_truth(kContext)->log_conditional(kContext, states, shifted, back);
  mixture.reversed().require_truth(kContext)->log_conditional(kContext, states, shifted,
                                                              of_mixture);
  EXPECT_TRUE(all_near(back, of_mixture, {1e-13, 1e-12}));
}

TEST(TwoSidedTrees, AreClosedFormsInBothDirections) {
  PairSpec spec = tree_spec(TreeShape::quadtree(4));
  const BenchmarkPair pair = build_pair(spec);
  EXPECT_EQ(pair.identity().family, PairFamily::kTree);
  EXPECT_EQ(pair.source().kind(), SourceKind::kTree);
  const auto back = pair.reversed().require_truth(kContext);
  EXPECT_TRUE(back->has_marginals());
  EXPECT_TRUE(back->has_transitions(4));
  EXPECT_TRUE(back->has_joint());
  const PairedStates rows = pair.sample_joint({.num_threads = 1}, 3000, 2);
  EXPECT_EQ(pair.sample_joint({.num_threads = 3}, 3000, 2).x0, rows.x0);
  std::vector<double> forward(3000), backward(3000);
  pair.require_truth(kContext)->log_conditional(kContext, rows.x0, rows.x1, forward);
  back->log_conditional(kContext, rows.x1, rows.x0, backward);
  const std::vector<double> p0 = pair.log_p0(kContext, rows.x0).value,
                            p1 = pair.log_p1(kContext, rows.x1).value;
  for (std::size_t i = 0; i < 3000; ++i) {  // one joint law
    EXPECT_TRUE(testing::is_near(p0[i] + forward[i], p1[i] + backward[i], {1e-12, 1e-10}));
  }
}

TEST(TwoSidedTrees, RefuseWhatHasNoClosedForm) {
  PairSpec spec = tree_spec(TreeShape::binary(4));
  PairSpec other = spec;
  other.tree = TreeShape::quadtree(2);
  spec.tree_potential = dynamic_cast<const TreeBridge&>(build_pair(spec).bridge()).potential();
  spec.source_tree = build_pair(other).source_tree();
  EXPECT_EQ(testing::error_of<InvalidArgument>([&] { build_pair(spec); }),
            "[potential] both factors must have one tree, got trees of 5 and 7 nodes that differ");
  other.source = SourceDistribution::uniform(4, 50, -7.0, 7.0);
  EXPECT_EQ(testing::error_of<InvalidArgument>([&] { build_pair(other); }),
            "[pair] source must be left out of a two-sided pair, whose p0 follows from f");
  other.family = PairFamily::kChain;
  EXPECT_EQ(testing::error_of<InvalidArgument>([&] { build_pair(other); }),
            "[pair] two_sided goes with family tree, got family chain");
  other = tree_spec(TreeShape::binary(4));
  other.source_potential = random_potential(4, 50, 2, 3);
  EXPECT_EQ(testing::error_of<InvalidArgument>([&] { build_pair(other); }),
            "[pair] two_sided goes with a potential of x0 on the tree, got a mixture");
  other = tree_spec(TreeShape::binary(64));
  other.num_components = 64;
  EXPECT_EQ(testing::error_of<InvalidArgument>([&] { build_pair(other); }),
            "[potential] a product of trees may have at most 134217728 numbers in its cores and in "
            "its moves, got 64 x 64 states on 64 coordinates of 50 categories and 127 nodes");
}

TEST(TwoSidedPairs, GivenPotentialsStayAsTheyAre) {
  PairSpec spec = testing::small_spec();
  spec.source_potential = random_potential(2, 6, 2, 3);
  const BenchmarkPair pair = build_pair(spec);
  EXPECT_EQ(pair.identity().family, PairFamily::kTwoSided);
  EXPECT_EQ(pair.source_potential()->log_cores(), spec.source_potential->log_cores());
  EXPECT_EQ(pair.source().kind(), SourceKind::kMixture);
  spec.source = SourceDistribution::uniform(2, 6, -7.0, 7.0);
  EXPECT_THROW(build_pair(spec), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
