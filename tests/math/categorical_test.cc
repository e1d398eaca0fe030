#include "bridgemark/math/categorical.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/support/chi_square.h"
#include "tests/support/random_bridge.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

// The definition: the first category whose cumulative sum exceeds the threshold.
std::size_t scan(const std::vector<double>& cumulative, double uniform) {
  const double threshold = uniform * cumulative.back();
  std::size_t i = 0;
  while (i + 1 < cumulative.size() && cumulative[i] <= threshold) ++i;
  return i;
}

std::vector<double> cumulate(const std::vector<double>& weights) {
  std::vector<double> sums;
  double sum = 0.0;
  for (const double weight : weights) sums.push_back(sum += weight);
  return sums;
}

TEST(DrawCategory, AgreesWithALinearScan) {
  std::mt19937_64 generator(1);
  for (std::size_t count = 1; count <= 67; ++count) {
    for (const double zero_share : {0.0, 0.5, 0.95}) {
      std::vector<double> weights(count);
      for (double& weight : weights) {
        weight = testing::unit(generator) < zero_share ? 0.0 : testing::unit(generator);
      }
      weights[generator() % count] = 0.5;
      const std::vector<double> cumulative = cumulate(weights);
      std::vector<double> uniforms{0.0, 0.5, 1.0 - 0x1.0p-53};
      for (int i = 0; i < 100; ++i) uniforms.push_back(testing::unit(generator));
      for (const double sum : cumulative) {  // right at the borders
        if (sum < cumulative.back()) uniforms.push_back(sum / cumulative.back());
      }
      for (const double uniform : uniforms) {
        const std::size_t drawn = draw_category(cumulative.data(), count, uniform);
        ASSERT_EQ(drawn, scan(cumulative, uniform)) << count << " " << uniform;
        ASSERT_GT(weights[drawn], 0.0) << "a category of probability zero";
      }
    }
  }
}

TEST(CumulateLog, IsTheScaledSum) {
  const std::vector<double> logs{-1e6 + std::log(2.0), kLogZero, -1e6, -1e6 + std::log(5.0)};
  std::vector<double> cumulative(4);
  cumulate_log(logs.data(), 4, cumulative.data());
  const double total = cumulative[3];
  EXPECT_TRUE(testing::is_near(cumulative[0] / total, 2.0 / 8.0, {1e-9, 0.0}));
  EXPECT_EQ(cumulative[1], cumulative[0]);
  EXPECT_TRUE(testing::is_near(cumulative[2] / total, 3.0 / 8.0, {1e-9, 0.0}));
}

TEST(CumulateProduct, LinearWhereItIsSafe) {
  const std::vector<double> a{1.0, 0.5, 0.0}, b{0.25, 1.0, 1.0}, unused(3, std::nan(""));
  std::vector<double> cumulative(3);
  cumulate_product(a.data(), b.data(), unused.data(), unused.data(), 3, cumulative.data());
  EXPECT_EQ(cumulative, (std::vector<double>{0.25, 0.75, 0.75}));
}

// Two rows that only overlap below exp(-700): the linear product is all zeros or denormals.
TEST(CumulateProduct, ExactWhereTheProductUnderflows) {
  const std::vector<double> log_a{0.0, -700.0, kLogZero, -2000.0};
  for (const double shift : {-1300.0, -50.0}) {  // below all of double; above its floor of 1e-270
    const std::vector<double> log_b{kLogZero, shift, 0.0, shift + 1300.0 - std::log(3.0)};
    std::vector<double> a, b, cumulative(4);
    for (const double value : log_a) a.push_back(std::exp(value));
    for (const double value : log_b) b.push_back(std::exp(value));
    cumulate_product(a.data(), b.data(), log_a.data(), log_b.data(), 4, cumulative.data());
    EXPECT_EQ(cumulative[0], 0.0);
    EXPECT_GT(cumulative[1], 0.0);
    EXPECT_TRUE(testing::is_near(cumulative[1] / cumulative[3], 0.75, {1e-9, 0.0})) << shift;
    EXPECT_EQ(cumulative[2], cumulative[1]);
  }
}

// On both sides of the floor, thresholds on a boundary included.
TEST(DrawProduct, DrawsWhatTheStoredSumsDraw) {
  std::mt19937_64 generator(3);
  for (const double shift : {0.0, -400.0}) {
    std::vector<double> a, b, log_a, log_b, cumulative(9);
    for (int s = 0; s < 9; ++s) {
      log_a.push_back(s == 2 ? kLogZero : shift - 3.0 * testing::unit(generator));
      log_b.push_back(s == 5 ? kLogZero : shift - 3.0 * testing::unit(generator));
      a.push_back(std::exp(log_a.back()));
      b.push_back(std::exp(log_b.back()));
    }
    cumulate_product(a.data(), b.data(), log_a.data(), log_b.data(), 9, cumulative.data());
    for (int i = 0; i < 1000; ++i) {
      const double uniform = i < 9 ? std::min(cumulative[i] / cumulative[8], 0x1.fffffffffffffp-1)
                                   : testing::unit(generator);
      EXPECT_EQ(draw_product(a.data(), b.data(), log_a.data(), log_b.data(), 9, uniform),
                draw_category(cumulative.data(), 9, uniform))
          << i;
    }
  }
}

TEST(DrawCategory, FollowsTheProbabilities) {
  const std::vector<double> weights{0.1, 0.0, 0.4, 0.2, 0.0, 0.3};
  const std::vector<double> cumulative = cumulate(weights);
  std::mt19937_64 generator(2);
  std::vector<std::size_t> counts(6, 0);
  for (int i = 0; i < 100000; ++i) {
    ++counts[draw_category(cumulative.data(), 6, testing::unit(generator))];
  }
  EXPECT_TRUE(testing::fits(counts, weights));
}

}  // namespace
}  // namespace bridgemark
