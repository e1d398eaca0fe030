#include "bridgemark/math/exact_log_dot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace bridgemark {
namespace {

TEST(ExactLogDot, IsTheLogarithmOfTheProduct) {
  const std::vector<double> a = {std::log(0.5), kLogZero, std::log(2.0)};
  const std::vector<float> b = {0.0f, 9.0f, 3.0f, 9.0f, 1.0f, 9.0f};
  EXPECT_NEAR(exact_log_dot(a.data(), b.data(), 2, 3), std::log(0.5 + 2.0 * std::exp(1.0)), 1e-15);
}

TEST(ExactLogDot, StaysExactFarOutOfRange) {
  const std::vector<double> a = {-4000.0, -4001.0}, b = {-3000.0, -2999.0};
  EXPECT_DOUBLE_EQ(exact_log_dot(a.data(), b.data(), 1, 2), -7000.0 + std::log(2.0));
}

TEST(ExactLogDot, OfNothingIsLogZero) {
  const std::vector<double> a = {kLogZero, 0.0}, b = {1.0, kLogZero};
  EXPECT_EQ(exact_log_dot(a.data(), b.data(), 1, 2), kLogZero);
  EXPECT_EQ(exact_log_dot(a.data(), b.data(), 1, 0), kLogZero);
}

TEST(ExactLogDot, SharesAddUpToTheirWeight) {
  const std::vector<double> a = {-800.0, kLogZero, -801.0}, b = {2.0, 1.0, 3.5};
  std::vector<double> out = {1.0, 2.0, 3.0};
  add_exact_shares(a.data(), b.data(), 1, 3, exact_log_dot(a.data(), b.data(), 1, 3), 0.25,
                   out.data());
  EXPECT_EQ(out[1], 2.0);
  EXPECT_NEAR(out[0] + out[2], 4.25, 1e-12);  // -798 is good to 1e-13
  EXPECT_NEAR((out[2] - 3.0) / (out[0] - 1.0), std::exp(0.5), 1e-12);
}

}  // namespace
}  // namespace bridgemark
