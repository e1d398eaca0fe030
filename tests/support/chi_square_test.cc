#include "tests/support/chi_square.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::chi_square_p_value;
using testing::fits;
using testing::is_near;
using testing::Tolerance;
using testing::upper_gamma;

constexpr Tolerance kTable{1e-9, 0.0};

TEST(ChiSquare, TailOfKnownDistributions) {
  // Q(1, x) = exp(-x); Q(1/2, x) = erfc(sqrt x); Q(3, x) = exp(-x) (1 + x + x^2 / 2).
  for (const double x : {0.01, 0.5, 1.0, 3.0, 7.0, 30.0}) {
    EXPECT_TRUE(is_near(upper_gamma(1.0, x), std::exp(-x), kTable)) << x;
    EXPECT_TRUE(is_near(upper_gamma(0.5, x), std::erfc(std::sqrt(x)), kTable)) << x;
    EXPECT_TRUE(is_near(upper_gamma(3.0, x), std::exp(-x) * (1.0 + x + x * x / 2.0), kTable)) << x;
  }
  EXPECT_EQ(upper_gamma(2.0, 0.0), 1.0);
}

TEST(ChiSquare, PValueOfFourCells) {
  // Deviations of 10 in cells of 100: the statistic is 4 with 3 degrees of freedom.
  const std::vector<std::size_t> counts{110, 90, 110, 90};
  const std::vector<double> quarter(4, 0.25);
  EXPECT_TRUE(is_near(chi_square_p_value(counts, quarter), 0.26146412994911, {1e-9, 0.0}));
}

TEST(ChiSquare, RejectsTheWrongLaw) {
  const std::vector<double> half(2, 0.5), certain{1.0, 0.0};
  EXPECT_TRUE(fits(std::vector<std::size_t>{5050, 4950}, half));
  EXPECT_FALSE(fits(std::vector<std::size_t>{5400, 4600}, half));
  EXPECT_TRUE(fits(std::vector<std::size_t>{10000, 0}, certain));
  EXPECT_FALSE(fits(std::vector<std::size_t>{9999, 1}, certain)) << "a draw of probability zero";
  EXPECT_FALSE(fits(std::vector<std::size_t>{1, 1, 1}, half)) << "sizes differ";
}

TEST(ChiSquare, PoolsRareCells) {
  // 100 cells that expect 0.1 each: pooled into one that expects 10.
  std::vector<double> probabilities(101, 1e-4);
  probabilities[100] = 0.99;
  std::vector<std::size_t> counts(101, 0);
  counts[100] = 990;
  counts[0] = 10;
  EXPECT_TRUE(fits(counts, probabilities));
  counts[0] = 60;
  EXPECT_FALSE(fits(counts, probabilities));
}

}  // namespace
}  // namespace bridgemark
