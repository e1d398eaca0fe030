#include "bridgemark/metric/sample_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/support/context.h"

namespace bridgemark {
namespace {

using testing::with_threads;

constexpr double kRounding = 1e-13;

// Products of uniforms: small categories are frequent, large ones rare, so cells both repeat and
// stay empty.
States random_states(std::mt19937_64& generator, std::size_t rows, std::size_t dim,
                     int num_categories) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  States states(rows, dim);
  for (std::size_t i = 0; i < states.size(); ++i) {
    states.data()[i] =
        static_cast<std::int32_t>(uniform(generator) * uniform(generator) * num_categories);
  }
  return states;
}

using Cells = std::map<std::pair<int, int>, double>;

double naive_pair_score(const States& truth, const States& prediction, std::size_t d,
                        std::size_t e) {
  Cells cells;
  for (std::size_t i = 0; i < truth.rows(); ++i) {
    cells[{truth(i, d), truth(i, e)}] += 1.0 / static_cast<double>(truth.rows());
  }
  for (std::size_t i = 0; i < prediction.rows(); ++i) {
    cells[{prediction(i, d), prediction(i, e)}] -= 1.0 / static_cast<double>(prediction.rows());
  }
  double difference = 0;
  for (const auto& [cell, value] : cells) difference += std::abs(value);
  return 1.0 - 0.5 * difference;
}

SampleScores naive_scores(const States& truth, const States& prediction) {
  const double dim = static_cast<double>(truth.cols());
  double diagonal = 0;
  double offdiagonal = 0;
  for (std::size_t d = 0; d < truth.cols(); ++d) {
    for (std::size_t e = 0; e < truth.cols(); ++e) {
      (d == e ? diagonal : offdiagonal) += naive_pair_score(truth, prediction, d, e);
    }
  }
  return {diagonal / dim, (diagonal + offdiagonal) / (dim * dim), offdiagonal / (dim * (dim - 1))};
}

bool same_bits(const SampleScores& a, const SampleScores& b) {
  return std::memcmp(&a, &b, sizeof(SampleScores)) == 0;
}

TEST(SampleScores, AgreeWithNaiveCounting) {
  std::mt19937_64 generator(1);
  for (const std::size_t n : {1, 7, 1000}) {
    for (const std::size_t m : {1, 7, 500, 1000}) {
      for (const std::size_t dim : {1, 2, 5}) {
        for (const int num_categories : {2, 3, 50, 300}) {
          SCOPED_TRACE("n " + std::to_string(n) + " m " + std::to_string(m) + " D " +
                       std::to_string(dim) + " S " + std::to_string(num_categories));
          const States truth = random_states(generator, n, dim, num_categories);
          const States prediction = random_states(generator, m, dim, num_categories);
          const SampleScores expected = naive_scores(truth, prediction);
          const SampleScores scores =
              score_samples(with_threads(2), truth, prediction, num_categories);
          EXPECT_NEAR(scores.shape, expected.shape, kRounding);
          EXPECT_NEAR(scores.trend, expected.trend, kRounding);
          if (dim == 1) {
            EXPECT_TRUE(std::isnan(scores.trend_offdiagonal));
          } else {
            EXPECT_NEAR(scores.trend_offdiagonal, expected.trend_offdiagonal, kRounding);
          }
        }
      }
    }
  }
}

TEST(SampleScores, DoNotDependOnThreadsOrRowOrder) {
  std::mt19937_64 generator(2);
  for (const int num_categories : {3, 50, 3000}) {
    States truth = random_states(generator, 333, 9, num_categories);
    const States prediction = random_states(generator, 500, 9, num_categories);
    const SampleScores one = score_samples(with_threads(1), truth, prediction, num_categories);
    EXPECT_TRUE(same_bits(one, score_samples(with_threads(2), truth, prediction, num_categories)));
    EXPECT_TRUE(same_bits(one, score_samples(with_threads(5), truth, prediction, num_categories)));
    for (std::size_t i = 0; i < truth.rows() / 2; ++i) {
      std::swap_ranges(truth.row(i), truth.row(i) + 9, truth.row(truth.rows() - 1 - i));
    }
    EXPECT_TRUE(same_bits(one, score_samples(with_threads(2), truth, prediction, num_categories)));
  }
}

// Weights of lcm(49999, 50001) = 2.5e9 take cells of 64 bits.
TEST(SampleScores, SurviveLargeCoprimeSizes) {
  std::mt19937_64 generator(3);
  const States truth = random_states(generator, 49999, 3, 4);
  const States prediction = random_states(generator, 50001, 3, 4);
  const SampleScores expected = naive_scores(truth, prediction);
  const SampleScores scores = score_samples(with_threads(2), truth, prediction, 4);
  // The naive sums add 50,000 rounded terms a cell.
  EXPECT_NEAR(scores.shape, expected.shape, 1e-10);
  EXPECT_NEAR(scores.trend_offdiagonal, expected.trend_offdiagonal, 1e-10);
  const SampleScores disjoint = score_samples({}, States(49999, 2, 0), States(50001, 2, 1), 2);
  EXPECT_EQ(disjoint.shape, 0.0);
  EXPECT_EQ(disjoint.trend_offdiagonal, 0.0);
}

// A table of S^2 cells could not be allocated here.
TEST(SampleScores, HandleSpacesTooLargeToTabulate) {
  std::mt19937_64 generator(4);
  const int num_categories = 1'000'000;
  const States truth = random_states(generator, 400, 3, num_categories);
  States prediction = random_states(generator, 300, 3, num_categories);
  std::copy(truth.row(0), truth.row(0) + 3 * 150, prediction.row(0));
  const SampleScores expected = naive_scores(truth, prediction);
  const SampleScores scores = score_samples(with_threads(2), truth, prediction, num_categories);
  EXPECT_NEAR(scores.shape, expected.shape, kRounding);
  EXPECT_NEAR(scores.trend, expected.trend, kRounding);
  EXPECT_GT(scores.trend_offdiagonal, 0.3);
}

TEST(SampleScores, AreOneForEqualAndZeroForDisjointSets) {
  const States low(2, 2, {0, 0, 1, 1});
  const States low_twice(4, 2, {1, 1, 0, 0, 0, 0, 1, 1});
  const States high(3, 2, {2, 2, 3, 3, 2, 3});
  const SampleScores equal = score_samples({}, low, low_twice, 4);
  EXPECT_EQ(equal.shape, 1.0);
  EXPECT_EQ(equal.trend, 1.0);
  EXPECT_EQ(equal.trend_offdiagonal, 1.0);
  const SampleScores disjoint = score_samples({}, low, high, 4);
  EXPECT_EQ(disjoint.shape, 0.0);
  EXPECT_EQ(disjoint.trend_offdiagonal, 0.0);
}

// The same marginals in another coupling: shape is blind to it, half of the published trend too.
TEST(SampleScores, SeparateTheDiagonal) {
  const States equal_pairs(2, 2, {0, 0, 1, 1});
  const States crossed_pairs(2, 2, {0, 1, 1, 0});
  const SampleScores scores = score_samples({}, equal_pairs, crossed_pairs, 2);
  EXPECT_EQ(scores.shape, 1.0);
  EXPECT_EQ(scores.trend, 0.5);
  EXPECT_EQ(scores.trend_offdiagonal, 0.0);
}

TEST(SampleScores, RefuseBadInput) {
  const States states(2, 2, {0, 0, 1, 1});
  EXPECT_THROW(score_samples({}, States(0, 2), states, 2), InvalidArgument);
  EXPECT_THROW(score_samples({}, states, States(0, 2), 2), InvalidArgument);
  EXPECT_THROW(score_samples({}, States(2, 0), States(2, 0), 2), InvalidArgument);
  EXPECT_THROW(score_samples({}, states, States(2, 3), 2), InvalidArgument);
  EXPECT_THROW(score_samples({}, states, states, 1), InvalidArgument);
  EXPECT_THROW(score_samples({}, states, states, 0), InvalidArgument);
  EXPECT_THROW(score_samples({}, states, States(1, 2, {0, -1}), 2), InvalidArgument);
  EXPECT_THROW(mean_marginal_entropy(States(0, 2), 2), InvalidArgument);
}

TEST(MeanMarginalEntropy, IsInNats) {
  // Column 0 is constant, column 1 fair.
  EXPECT_NEAR(mean_marginal_entropy(States(2, 2, {0, 0, 0, 1}), 2), 0.5 * std::log(2.0), kRounding);
  EXPECT_EQ(mean_marginal_entropy(States(1, 1, 2), 3), 0.0);
}

TEST(ExactShape, AgainstSamples) {
  const double zero = -std::numeric_limits<double>::infinity();
  const Matrix<double> log_marginals(
      2, 3, {std::log(0.5), std::log(0.25), std::log(0.25), 0.0, zero, zero});
  // Coordinate 0: (1/4, 3/4, 0) against (1/2, 1/4, 1/4), TV 1/2. Coordinate 1: TV 1/4.
  const States prediction(4, 2, {0, 0, 1, 0, 1, 2, 1, 0});
  EXPECT_NEAR(shape_against_exact(prediction, log_marginals), 0.625, kRounding);
}

TEST(ExactShape, BetweenMarginals) {
  const double zero = -std::numeric_limits<double>::infinity();
  const Matrix<double> p(2, 2, {std::log(0.5), std::log(0.5), 0.0, zero});
  const Matrix<double> q(2, 2, {std::log(0.75), std::log(0.25), zero, 0.0});
  EXPECT_EQ(shape_between_marginals(p, p), 1.0);
  EXPECT_NEAR(shape_between_marginals(p, q), 0.375, kRounding);
  EXPECT_NEAR(shape_between_marginals(q, p), 0.375, kRounding);
}

TEST(ExactShape, RefusesBadInput) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double half = std::log(0.5);
  const Matrix<double> good(1, 2, {half, half});
  const States prediction(1, 1, 0);
  EXPECT_THROW(shape_against_exact(prediction, Matrix<double>(1, 2, {half, nan})), InvalidArgument);
  EXPECT_THROW(shape_against_exact(prediction, Matrix<double>(1, 2, {half, 0.0})), InvalidArgument);
  EXPECT_THROW(shape_against_exact(prediction, Matrix<double>()), InvalidArgument);
  EXPECT_THROW(shape_against_exact(States(0, 1), good), InvalidArgument);
  EXPECT_THROW(shape_against_exact(States(1, 1, 2), good), InvalidArgument);
  EXPECT_THROW(shape_between_marginals(good, Matrix<double>(1, 1, 0.0)), InvalidArgument);
  EXPECT_THROW(shape_between_marginals(good, Matrix<double>(2, 2, half)), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
