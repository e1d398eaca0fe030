#include "bridgemark/solver/baseline/baselines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/solver/registry.h"
#include "tests/support/chi_square.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/small_pair.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::dense_joint;
using testing::fit_solver;
using ::testing::HasSubstr;
using testing::is_near;
using testing::joint_kl;
using testing::nonsymmetric_spec;
using testing::small_spec;
using testing::state_index;
using testing::Tolerance;
using testing::Wide;

std::vector<std::size_t> count_states(const States& states, int num_categories, std::size_t cells) {
  std::vector<std::size_t> counts(cells, 0);
  for (std::size_t i = 0; i < states.rows(); ++i) {
    ++counts[state_index(states.row(i), states.cols(), num_categories)];
  }
  return counts;
}

std::vector<double> column_sums(const Wide& joint) {
  std::vector<double> sums(joint.cols(), 0.0);
  for (std::size_t j = 0; j < joint.cols(); ++j) {
    for (std::size_t i = 0; i < joint.rows(); ++i) sums[j] += static_cast<double>(joint(i, j));
  }
  return sums;
}

TEST(Solvers, AreFoundByNameAndSuggested) {
  for (const char* name : {"oracle", "independent", "reference", "feature-wise", "sinkhorn"}) {
    EXPECT_EQ(find_solver(name).name(), name);
    EXPECT_FALSE(find_solver(name).description().empty());
  }
  try {
    find_solver("refrence");
    FAIL() << "expected InvalidArgument";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("'refrence'; the nearest is reference"));
  }
}

// Rows of data are all that it can draw, and it says so where a score asks for more.
TEST(Independent, OnDataSaysWhyItHasNoJoint) {
  const FitProblem data(States(2, 1, {0, 1}), States(3, 1, {0, 1, 1}),
                        ReferenceProcess::uniform(3, 0.1, 4));
  const auto coupling = find_solver("independent").fit({}, data, SolverOptions({}), 0).coupling;
  EXPECT_FALSE(coupling->has_joint());
  EXPECT_THAT(coupling->why_missing(Ability::kJoint, 0),
              HasSubstr("all its mass on the 3 rows of x1 it was given"));
}

TEST(Independent, FollowsP1WhateverX0Is) {
  const BenchmarkPair pair = build_pair(small_spec());
  const std::shared_ptr<const Coupling> coupling = fit_solver("independent", pair).coupling;
  const std::size_t rows = 40000;
  const DrawKey key{4, DrawPurpose::kPrediction};
  States from_corner(rows, 2), from_source(rows, 2);
  coupling->sample({}, States(rows, 2, 0), key, 0, from_corner);
  coupling->sample({}, pair.sample_x0({}, rows, 9), key, 0, from_source);
  EXPECT_EQ(from_corner, from_source);
  const std::vector<double> p1 = column_sums(dense_joint(pair));
  EXPECT_TRUE(testing::fits(count_states(from_corner, 6, p1.size()), p1));
  // Other draws for another purpose or seed, and batches that join up.
  States other(rows, 2), tail(100, 2);
  coupling->sample({}, from_corner, {4, DrawPurpose::kConditionalPrediction}, 0, other);
  EXPECT_NE(other, from_corner);
  EXPECT_TRUE(testing::fits(count_states(other, 6, p1.size()), p1));
  coupling->sample({}, States(100, 2, 3), key, rows - 100, tail);
  EXPECT_TRUE(std::equal(tail.data(), tail.data() + tail.size(), from_corner.row(rows - 100)));
  EXPECT_FALSE(coupling->has_joint());
  EXPECT_FALSE(coupling->has_transitions(1));
}

TEST(Independent, OfAReversedPairFollowsP0) {
  PairSpec spec = small_spec();
  spec.reverse = true;
  const BenchmarkPair pair = build_pair(spec);
  States drawn(40000, 2);
  fit_solver("independent", pair)
      .coupling->sample({}, States(40000, 2, 0), {1, DrawPurpose::kPrediction}, 0, drawn);
  const std::vector<double> p0 = testing::source_probabilities(pair, testing::all_states(2, 6));
  EXPECT_TRUE(testing::fits(count_states(drawn, 6, p0.size()), p0));
}

TEST(Reference, IsTheReferenceProcess) {
  for (const PairSpec& spec : {small_spec(), nonsymmetric_spec()}) {
    SCOPED_TRACE(spec.name);
    const BenchmarkPair pair = build_pair(spec);
    const int S = pair.num_categories();
    const std::shared_ptr<const Coupling> coupling = fit_solver("reference", pair).coupling;
    const Wide q = testing::power(testing::elementary_step(pair.bridge().process()),
                                  pair.bridge().process().total_steps());
    const States states = testing::all_states(2, S);
    Array3<double> marginals;
    coupling->log_marginals({}, states, marginals);
    for (std::size_t i = 0; i < states.rows(); ++i) {
      for (std::size_t d = 0; d < 2; ++d) {
        for (std::size_t s = 0; s < static_cast<std::size_t>(S); ++s) {
          const auto expected =
              static_cast<double>(std::log(q(static_cast<std::size_t>(states(i, d)), s)));
          ASSERT_TRUE(is_near(marginals(i, d, s), expected, Tolerance{1e-12, 1e-12}));
        }
      }
    }
    const std::size_t start = 7, rows = 40000;
    States drawn(rows, 2);
    coupling->sample({}, testing::repeat_row(states, start, rows), {2, DrawPurpose::kPrediction}, 0,
                     drawn);
    const Wide lifted = testing::lift(q, states);
    std::vector<double> law(states.rows());
    for (std::size_t j = 0; j < law.size(); ++j) law[j] = static_cast<double>(lifted(start, j));
    EXPECT_TRUE(testing::fits(count_states(drawn, S, law.size()), law));
    EXPECT_TRUE(coupling->has_joint());
    EXPECT_TRUE(coupling->has_transitions(16));
    EXPECT_FALSE(coupling->has_transitions(3));
  }
}

TEST(Oracle, OfAReversedPairIsBayes) {
  for (PairSpec spec : {small_spec(), nonsymmetric_spec()}) {
    SCOPED_TRACE(spec.name);
    spec.reverse = true;
    const BenchmarkPair pair = build_pair(spec);
    const Wide joint = dense_joint(pair);
    const std::vector<double> p1 = column_sums(joint);
    const testing::StatePairs pairs =
        testing::all_pairs(testing::all_states(2, pair.num_categories()));
    const std::size_t M = joint.rows();
    std::vector<double> log_q(M * M);
    const std::shared_ptr<const Coupling> oracle = fit_solver("oracle", pair).coupling;
    oracle->log_conditional({}, pairs.from, pairs.to, log_q);
    for (std::size_t to = 0; to < M; ++to) {
      for (std::size_t from = 0; from < M; ++from) {
        const auto expected = static_cast<double>(std::log(joint(from, to)) -
                                                  std::log(static_cast<long double>(p1[to])));
        ASSERT_TRUE(is_near(log_q[to * M + from], expected, Tolerance{1e-11, 1e-11}));
      }
    }
    EXPECT_NEAR(joint_kl(pair, *oracle), 0.0, 1e-12);
  }
}

TEST(Oracle, AnswersReversedPairsOfAnySize) {
  PairSpec spec = small_spec();
  spec.dim = 5;  // too many states to list
  spec.reverse = true;
  const BenchmarkPair pair = build_pair(spec);
  const States x0 = pair.sample_x0({}, 3, 1);
  States drawn(3, 5);
  fit_solver("oracle", pair).coupling->sample({}, x0, {4, DrawPurpose::kConditional}, 0, drawn);
  EXPECT_EQ(drawn, pair.sample_conditional({}, x0, 4));
}

// pi(x) Q(x,y) = pi(y) R(y,x), pi the stationary law: R's rows sum to 1 for no other weights.
TEST(TimeReversal, DetailedBalanceWithTheStationaryLaw) {
  for (const double keep : {0.0, 0.9, 0.999}) {
    const auto process = ReferenceProcess::from_matrix(testing::random_stochastic(6, keep, 31), 8);
    const Wide q = testing::elementary_step(process),
               r = testing::elementary_step(process.time_reversed());
    Wide high = q;
    for (int i = 0; i < 40; ++i) high = testing::multiply(high, high);  // the 2^40-th power
    double largest_asymmetry = 0.0;
    for (std::size_t x = 0; x < 6; ++x) {
      for (std::size_t y = 0; y < 6; ++y) {
        EXPECT_NEAR(static_cast<double>(high(0, x) * q(x, y)),
                    static_cast<double>(high(0, y) * r(y, x)), 1e-13);
        largest_asymmetry =
            std::max(largest_asymmetry, std::abs(static_cast<double>(q(x, y) - r(x, y))));
      }
    }
    EXPECT_GT(largest_asymmetry, 1e-4);
    const ReferenceProcess twice_reversed = process.time_reversed().time_reversed();
    const SharedMatrix twice = twice_reversed.log_power({}, 1);
    const SharedMatrix once = process.log_power({}, 1);
    for (std::size_t i = 0; i < once.size(); ++i) {
      EXPECT_NEAR(twice.data()[i], once.data()[i], 1e-11);
    }
  }
  const auto gaussian = ReferenceProcess::gaussian(6, 0.2, 8);
  const ReferenceProcess gaussian_reversed = gaussian.time_reversed();
  EXPECT_EQ(gaussian_reversed.log_power({}, 1), gaussian.log_power({}, 1));
}

// q*(x0|x1) is a bridge over the reversed reference with potential p0(x0) / (c(x0) pi(x0)): written
// with one component for each state, it must be the coupling read backwards.
TEST(TimeReversal, ReversedBridgeIsTheCouplingBackwards) {
  PairSpec spec = nonsymmetric_spec();
  spec.num_categories = 4;
  spec.reference_matrix = testing::random_stochastic(4, 0.9, 22);
  spec.reverse = true;
  const BenchmarkPair pair = build_pair(spec);
  const States states = testing::all_states(2, 4);
  const std::size_t M = states.rows();
  Wide high = testing::elementary_step(pair.bridge().process());
  for (int i = 0; i < 40; ++i) high = testing::multiply(high, high);
  std::vector<double> log_c(M), log_p0(M);
  pair.bridge().log_normalizer({}, states, log_c);
  pair.source().log_probability(states, log_p0);
  std::vector<double> log_beta(M);
  Array3<double> log_cores(2, 4, M, kLogZero);
  for (std::size_t k = 0; k < M; ++k) {
    log_beta[k] = log_p0[k] - log_c[k];
    for (std::size_t d = 0; d < 2; ++d) {
      const auto s = static_cast<std::size_t>(states(k, d));
      log_cores(d, s, k) = -static_cast<double>(std::log(high(0, s)));
    }
  }
  const CpBridge backwards(pair.reference(), CpPotential(log_beta, log_cores));
  EXPECT_NEAR(joint_kl(pair, backwards), 0.0, 1e-11);
  // The reference that is not reversed gives another coupling.
  const CpBridge wrong(pair.bridge().process(), CpPotential(log_beta, log_cores));
  EXPECT_GT(joint_kl(pair, wrong), 1e-3);
}

}  // namespace
}  // namespace bridgemark
