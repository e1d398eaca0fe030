#include "bridgemark/pair/source_distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "tests/io/io_testing.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_tree.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::error_of;
using testing::fits;
using testing::is_near;
using testing::kContext;
using testing::Tolerance;

constexpr Tolerance kLog{1e-12, 1e-12};
constexpr std::size_t kDrawnRows = 100000;

States draw(const SourceDistribution& source, std::size_t rows, const Context& context = kContext) {
  States states(rows, source.dim());
  source.sample(context, {3, DrawPurpose::kSource}, 0, states);
  return states;
}

// Counts over all S^D states.
std::vector<std::size_t> count_states(const States& states, int num_categories) {
  std::vector<std::size_t> counts(testing::all_states(states.cols(), num_categories).rows(), 0);
  for (std::size_t i = 0; i < states.rows(); ++i) {
    ++counts[testing::state_index(states.row(i), states.cols(), num_categories)];
  }
  return counts;
}

// Draws follow log_probability, which sums to one over the whole space.
void expect_consistent(const SourceDistribution& source) {
  const States all = testing::all_states(source.dim(), source.num_categories());
  std::vector<double> p(all.rows());
  source.log_probability(all, p);
  double sum = 0.0;
  for (double& value : p) sum += value = std::exp(value);
  EXPECT_TRUE(is_near(sum, 1.0, kLog));
  EXPECT_TRUE(fits(count_states(draw(source, kDrawnRows), source.num_categories()), p));
  // Marginals are sums of the joint.
  const Matrix<double> marginals = source.log_marginals();
  for (std::size_t d = 0; d < source.dim(); ++d) {
    std::vector<double> sums(static_cast<std::size_t>(source.num_categories()), 0.0);
    for (std::size_t i = 0; i < all.rows(); ++i) sums[static_cast<std::size_t>(all(i, d))] += p[i];
    for (std::size_t s = 0; s < sums.size(); ++s) {
      EXPECT_TRUE(is_near(std::exp(marginals(d, s)), sums[s], kLog));
    }
  }
}

TEST(SourceDistribution, GaussianIsTheNormalBetweenEdges) {
  const SourceDistribution source = SourceDistribution::gaussian(3, 50, -7.0, 7.0);
  const Matrix<double>& log_pmf = source.log_pmf();
  ASSERT_EQ(log_pmf.rows(), 3u);
  ASSERT_EQ(log_pmf.cols(), 50u);
  const auto below = [](long double x) {
    return 0.5L * std::erfc(-x / std::numbers::sqrt2_v<long double>);
  };
  for (std::size_t s = 0; s < 25; ++s) {
    const long double low = -7.0L + 14.0L * (static_cast<long double>(s) - 1.0L) / 48.0L;
    const long double high = -7.0L + 14.0L * static_cast<long double>(s) / 48.0L;
    const long double p = below(high) - (s == 0 ? 0.0L : below(low));
    for (std::size_t d = 0; d < 3; ++d) {
      EXPECT_TRUE(is_near(log_pmf(d, s), static_cast<double>(std::log(p)), kLog)) << s;
      EXPECT_TRUE(is_near(log_pmf(d, 49 - s), static_cast<double>(std::log(p)), kLog))
          << "the upper tail is as exact as the lower";
    }
  }
  EXPECT_EQ(source.low(), -7.0);
  EXPECT_EQ(source.high(), 7.0);
  expect_consistent(SourceDistribution::gaussian(2, 9, -2.0, 2.5));
}

TEST(SourceDistribution, UniformIsFlatBetweenItsEnds) {
  const SourceDistribution source = SourceDistribution::uniform(1, 5, -3.0, 3.0);
  // Edges at -3, -1, 1, 3: the outer categories are empty.
  EXPECT_EQ(source.log_pmf()(0, 0), kLogZero);
  EXPECT_EQ(source.log_pmf()(0, 4), kLogZero);
  for (std::size_t s = 1; s < 4; ++s) {
    EXPECT_TRUE(is_near(source.log_pmf()(0, s), std::log(1.0 / 3.0), kLog));
  }
  expect_consistent(SourceDistribution::uniform(2, 7, -2.0, 3.0));
}

TEST(SourceDistribution, ProductKeepsItsRows) {
  const Matrix<double> pmf(2, 3, {0.2, 0.3, 0.5, 0.0, 0.9, 0.1});
  const SourceDistribution source = SourceDistribution::product(pmf);
  EXPECT_EQ(source.kind(), SourceKind::kProduct);
  EXPECT_EQ(source.log_pmf()(1, 0), kLogZero);
  EXPECT_TRUE(is_near(source.log_pmf()(0, 2), std::log(0.5), kLog));
  expect_consistent(source);
}

TEST(SourceDistribution, EmpiricalDrawsItsRowsAlike) {
  const States rows(5, 2, {0, 1, 2, 2, 0, 1, 1, 0, 0, 1});  // (0, 1) three times
  const SourceDistribution source = SourceDistribution::empirical(rows, 3);
  EXPECT_EQ(source.states(), rows);
  const States asked(4, 2, {0, 1, 2, 2, 1, 1, 1, 0});
  std::vector<double> log_p(4);
  source.log_probability(asked, log_p);
  EXPECT_TRUE(is_near(log_p[0], std::log(0.6), kLog));
  EXPECT_TRUE(is_near(log_p[1], std::log(0.2), kLog));
  EXPECT_EQ(log_p[2], kLogZero);
  EXPECT_TRUE(is_near(log_p[3], std::log(0.2), kLog));
  expect_consistent(source);
}

TEST(SourceDistribution, TreeIsItsPotentialNormalised) {
  // A state of the root that cannot be, a move that is never made, categories that never fall.
  const TreePotential full = testing::random_tree({{-1, 0, 0, 2}, {3, 1, 3}}, 3, 3, 2.0, 9);
  std::vector<double> root = full.log_root();
  Array3<double> moves = full.log_moves(), cores = full.log_cores();
  root[1] = moves(0, 0, 2) = moves(1, 2, 2) = cores(1, 0, 0) = kLogZero;
  for (std::size_t s = 0; s < 3; ++s) cores(0, s, 2) = kLogZero;
  const TreePotential potential(full.shape(), root, moves, cores);
  const SourceDistribution source = SourceDistribution::tree(potential);
  EXPECT_EQ(source.kind(), SourceKind::kTree);
  expect_consistent(source);
  const States states = testing::all_states(3, 3);
  std::vector<double> log_p(states.rows()), expected(states.rows());
  source.log_probability(states, log_p);
  const std::vector<long double> v = testing::potential_by_states(potential, states);
  const long double total = std::accumulate(v.begin(), v.end(), 0.0L);
  for (std::size_t i = 0; i < v.size(); ++i)
    expected[i] = static_cast<double>(std::log(v[i] / total));
  EXPECT_TRUE(testing::all_near(log_p, expected, {1e-13, 1e-12}));
  EXPECT_TRUE(is_near(potential.log_total(), static_cast<double>(std::log(total)), kLog));
  EXPECT_EQ(error_of<InvalidArgument>([&] { source.log_pmf(); }),
            "[source] a tree source has no product pmf");
}

TEST(SourceDistribution, SameDrawsForAnyThreadsAndSplit) {
  const States rows(3, 4, {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2});
  for (const SourceDistribution& source :
       {SourceDistribution::gaussian(4, 9, -2.0, 2.0), SourceDistribution::empirical(rows, 9),
        SourceDistribution::tree(testing::random_tree(TreeShape::binary(4), 9, 3, 2.0, 3))}) {
    const States expected = draw(source, 5000, {.num_threads = 1});
    for (const int threads : {2, 5}) {
      EXPECT_EQ(draw(source, 5000, {.num_threads = threads}), expected);
    }
    States split(5000, 4);
    for (std::size_t first = 0; first < 5000; first += 1250) {
      source.sample(kContext, {3, DrawPurpose::kSource}, first, split.view().slice(first, 1250));
    }
    EXPECT_EQ(split, expected);
  }
}

TEST(SourceDistribution, RefusesBadInput) {
  const auto message = [](auto&& body) { return error_of<InvalidArgument>(body); };
  EXPECT_EQ(message([] { SourceDistribution::gaussian(0, 5, -1.0, 1.0); }),
            "[source] dim must be at least 1, got 0");
  EXPECT_EQ(message([] { SourceDistribution::product(Matrix<double>(1, 2, 0.6)); }),
            "[source] each row of the pmf must sum to 1, got 1.2 for row 0");
  EXPECT_EQ(message([] {
              SourceDistribution::product(Matrix<double>(1, 2, {1.5, -0.5}));
            }),
            "[source] pmf must lie in [0, 1], got 1.5 at [0, 0]");
  message([] { SourceDistribution::product(Matrix<double>(1, 2, {std::nan(""), 1.0})); });
  message([] { SourceDistribution::product(Matrix<double>(1, 1, 1.0)); });
  message([] { SourceDistribution::product(Matrix<double>(0, 2)); });
  testing::contains(message([] { SourceDistribution::empirical(States(0, 2), 3); }), "got 0");
  EXPECT_EQ(message([] {
              SourceDistribution::empirical(States(1, 2, {0, 3}), 3);
            }),
            "[states] source must hold categories 0..2, got 3 at row 0, column 1");
  const SourceDistribution gaussian = SourceDistribution::gaussian(2, 4, -1.0, 1.0);
  const SourceDistribution empirical = SourceDistribution::empirical(States(1, 2, 0), 3);
  message([&] { gaussian.states(); });
  message([&] { empirical.log_pmf(); });
  double value = 0.0;
  message([&] { gaussian.log_probability(States(1, 3, 0), {&value, 1}); });
  message([&] { gaussian.log_probability(States(1, 2, 4), {&value, 1}); });
}

}  // namespace
}  // namespace bridgemark
