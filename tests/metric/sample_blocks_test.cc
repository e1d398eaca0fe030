#include "bridgemark/metric/sample_blocks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/sample_scores.h"
#include "tests/support/small_pair.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

double mean_of(const BlockMeans& blocks) {
  double sum = 0.0;
  for (std::size_t b = 0; b < blocks.means.size(); ++b) {
    sum += blocks.means[b] * static_cast<double>(blocks.block_rows(b));
  }
  return sum / static_cast<double>(blocks.rows);
}

constexpr double kSixDigits = 5e-6;  // to which blocks are rounded

TEST(SampleBlocks, MeanIsTheScore) {
  for (const std::size_t rows : {1u, 57u, 2000u}) {
    for (const std::size_t dim : {1u, 2u, 5u}) {
      States truth(rows, dim), prediction(rows, dim);
      for (std::size_t i = 0; i < truth.size(); ++i) {
        truth.data()[i] = static_cast<std::int32_t>(i * i % 7);
        prediction.data()[i] = static_cast<std::int32_t>((i * i * i + i / 3) % 7);
      }
      const SampleScores scores = score_samples({}, truth, prediction, 7);
      const SampleBlocks blocks = sample_blocks({}, truth, prediction, 7);
      EXPECT_NEAR(mean_of(blocks.shape), scores.shape, kSixDigits);
      EXPECT_NEAR(mean_of(blocks.trend), scores.trend, kSixDigits);
      if (dim == 1) {
        EXPECT_TRUE(blocks.trend_offdiagonal.means.empty());
      } else {
        EXPECT_NEAR(mean_of(blocks.trend_offdiagonal), scores.trend_offdiagonal, kSixDigits);
      }
      const SampleBlocks threads = sample_blocks(testing::with_threads(3), truth, prediction, 7);
      EXPECT_EQ(threads.trend, blocks.trend);
    }
  }
}

TEST(SampleBlocks, LargeSpacesHaveNoTrend) {
  const States states(50, 2, 3);
  const SampleBlocks blocks = sample_blocks({}, states, states, 100000);
  EXPECT_EQ(mean_of(blocks.shape), 1.0);
  EXPECT_TRUE(blocks.trend.means.empty());
  EXPECT_TRUE(blocks.trend_offdiagonal.means.empty());
}

TEST(SampleBlocks, RefusesOtherShapes) {
  EXPECT_THROW(sample_blocks({}, States(3, 2, 0), States(4, 2, 0), 5), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
