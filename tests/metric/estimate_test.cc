#include "bridgemark/metric/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace bridgemark {
namespace {

TEST(EstimateMean, MeanAndStandardErrorByHand) {
  const std::vector<double> values{1.0, 2.0, 3.0, 6.0};
  const MeanEstimate estimate = estimate_mean(values);
  EXPECT_DOUBLE_EQ(estimate.mean, 3.0);
  // Squares 4 + 1 + 0 + 9 = 14; variance 14/3; over 4 values.
  EXPECT_DOUBLE_EQ(estimate.standard_error, std::sqrt(14.0 / 3.0 / 4.0));
}

// Sums of squares minus the square of the sum would lose every digit here.
TEST(EstimateMean, SurvivesALargeOffset) {
  const std::vector<double> values{1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0};
  EXPECT_NEAR(estimate_mean(values).standard_error, std::sqrt(1.0 / 3.0), 1e-9);
}

TEST(EstimateMean, EdgeCases) {
  const MeanEstimate one = estimate_mean(std::vector<double>{4.0});
  EXPECT_EQ(one.mean, 4.0);
  EXPECT_TRUE(std::isnan(one.standard_error));
  EXPECT_TRUE(std::isnan(estimate_mean({}).mean));
  EXPECT_TRUE(std::isnan(estimate_mean({}).standard_error));
  const std::vector<double> constant{0.5, 0.5, 0.5};
  EXPECT_EQ(estimate_mean(constant).standard_error, 0.0);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(estimate_mean(std::vector<double>{1.0, infinity}).mean, infinity);
}

}  // namespace
}  // namespace bridgemark
