#include "bridgemark/submission/challenge/open_distance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace bridgemark {
namespace {

TEST(OpenDistance, SaysWhatItCompares) {
  const auto verdicts = compare_with_open({{"one", {0.1, 0.4}, {0.2, 0.4, 0.8}}});
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].preset, "one");
  EXPECT_NEAR(verdicts[0].open, 0.2, 1e-12);
  EXPECT_NEAR(verdicts[0].revealed, 0.4, 1e-12);
  EXPECT_NEAR(verdicts[0].times, 2.0, 1e-12);
  // The deviation is log 2, and Student's t with 2 degrees of freedom exceeds 6.9646 once in 100.
  EXPECT_NEAR(std::log(verdicts[0].may_be), 6.9646 * std::log(2.0) * std::sqrt(4.0 / 3.0), 1e-3);
  EXPECT_FALSE(verdicts[0].far);
}

TEST(OpenDistance, FindsAMemoriserAmongHonestPresets) {
  const auto verdicts = compare_with_open({{"honest", {0.02}, {0.03, 0.01}},
                                           {"known", {0.0}, {3.0, 2.5}},
                                           {"better", {0.5}, {0.1, 0.2}}});
  EXPECT_FALSE(verdicts[0].far);
  EXPECT_TRUE(verdicts[1].far);
  EXPECT_DOUBLE_EQ(verdicts[1].open, kLeastDistance);
  EXPECT_FALSE(verdicts[2].far);
}

TEST(OpenDistance, DistancesThatNobodyCanTellFromZeroAreEqual) {
  const auto verdicts = compare_with_open({{"one", {-1e-5}, {1e-4, 0.0, 3e-4}}});
  EXPECT_EQ(verdicts[0].times, 1.0);
  EXPECT_FALSE(verdicts[0].far);
}

// Distances of one law, log-normal, on the preset and on its instances: of 20,000 solvers on two
// presets 1 in 100 at most is named far, by chance up to 4 errors more.
TEST(OpenDistance, HonestSolversAreSeldomFar) {
  std::mt19937_64 generator(7);
  std::normal_distribution<double> log_distance(-2.0, 0.8);
  const auto draw = [&] { return std::exp(log_distance(generator)); };
  constexpr int kSolvers = 20000;
  int far = 0;
  for (int i = 0; i < kSolvers; ++i) {
    const auto verdicts = compare_with_open(
        {{"a", {draw()}, {draw(), draw(), draw()}}, {"b", {draw()}, {draw(), draw(), draw()}}});
    far += verdicts[0].far || verdicts[1].far;
  }
  const double rate = far / double{kSolvers};
  EXPECT_LT(rate, kFarByChance + 4.0 * std::sqrt(kFarByChance / kSolvers));
  EXPECT_GT(rate, 0.5 * kFarByChance);  // the limit is not a wide one
}

}  // namespace
}  // namespace bridgemark
