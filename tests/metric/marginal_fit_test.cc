#include "bridgemark/metric/own_data/marginal_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/metric/sample_scores.h"
#include "tests/support/small_pair.h"

namespace bridgemark {
namespace {

using testing::small_spec;

TEST(MarginalFit, ValuesAreTheSampleScores) {
  const BenchmarkPair pair = build_pair(small_spec());
  const States x0 = pair.sample_x0({}, 300, 1), x1 = pair.sample_x1({}, 170, 2);
  const MarginalFit fit = marginal_fit({}, x1, x0, 6);
  const SampleScores scores = score_samples({}, x1, x0, 6);
  EXPECT_EQ(fit.shape.mean, scores.shape);
  EXPECT_EQ(fit.trend.mean, scores.trend);
  EXPECT_EQ(fit.trend_offdiagonal.mean, scores.trend_offdiagonal);
  const MarginalFit threads = marginal_fit(testing::with_threads(3), x1, x0, 6);
  EXPECT_EQ(fit.trend.standard_error, threads.trend.standard_error);
  EXPECT_GT(fit.trend.standard_error, 0.0);
  const MeanEstimate shape = marginal_shape({}, x1, x0, 6);
  EXPECT_NEAR(shape.mean, fit.shape.mean, 1e-12);
  EXPECT_EQ(shape.standard_error, fit.shape.standard_error);
}

// Sets of different laws and sizes drawn 300 times: the spread of the score is what its error says,
// within 15 %, where a standard deviation of 300 draws has an error of 4 %.
TEST(MarginalFit, ErrorIsTheSpreadOverSets) {
  const BenchmarkPair pair = build_pair(small_spec());
  constexpr int kSets = 300;
  std::vector<double> shape, trend, shape_error, trend_error;
  for (int set = 0; set < kSets; ++set) {
    const auto seed = static_cast<std::uint64_t>(set);
    const MarginalFit fit = marginal_fit({}, pair.sample_x1({}, 400, 1000 + seed),
                                         pair.sample_x0({}, 150, 2000 + seed), 6);
    shape.push_back(fit.shape.mean);
    trend.push_back(fit.trend.mean);
    shape_error.push_back(fit.shape.standard_error);
    trend_error.push_back(fit.trend.standard_error);
  }
  const auto spread = [](const std::vector<double>& values) {
    return estimate_mean(values).standard_error * std::sqrt(static_cast<double>(kSets));
  };
  EXPECT_NEAR(estimate_mean(shape_error).mean / spread(shape), 1.0, 0.15);
  EXPECT_NEAR(estimate_mean(trend_error).mean / spread(trend), 1.0, 0.15);
}

TEST(MarginalFit, OneCoordinateAndLargeSpaces) {
  const States one(5, 1, std::vector<std::int32_t>{0, 1, 1, 2, 0});
  const MarginalFit fit = marginal_fit({}, one, one, 3);
  EXPECT_EQ(fit.shape.mean, 1.0);
  EXPECT_EQ(fit.shape.standard_error, 0.0);
  EXPECT_EQ(fit.trend.standard_error, 0.0);
  EXPECT_TRUE(std::isnan(fit.trend_offdiagonal.mean));
  const MarginalFit large = marginal_fit({}, States(4, 2, 3), States(6, 2, 3), 5000);
  EXPECT_EQ(large.trend.mean, 1.0);
  EXPECT_TRUE(std::isnan(large.trend.standard_error));
}

}  // namespace
}  // namespace bridgemark
