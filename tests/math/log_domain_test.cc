#include "bridgemark/math/log_domain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/random_bridge.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::is_near;
using testing::Tolerance;

constexpr Tolerance kRounding{1e-15, 2e-16};
const double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(LogAdd, AgreesWithLongDouble) {
  for (const double a : {-745.0, -30.0, -1.0, 0.0, 0.5, 20.0, 700.0}) {
    for (const double difference : {0.0, 1e-9, 0.1, 1.0, 36.0, 40.0, 800.0}) {
      const double b = a - difference;
      const auto expected =
          static_cast<double>(a + std::log1p(std::exp(static_cast<long double>(b) - a)));
      EXPECT_TRUE(is_near(log_add(a, b), expected, kRounding)) << a << " " << b;
      EXPECT_EQ(log_add(a, b), log_add(b, a));
    }
  }
}

TEST(LogAdd, Edges) {
  EXPECT_EQ(log_add(kLogZero, kLogZero), kLogZero);
  EXPECT_EQ(log_add(kLogZero, -5.0), -5.0);
  EXPECT_EQ(log_add(-5.0, kLogZero), -5.0);
  EXPECT_EQ(log_add(1e308, -1e308), 1e308);
  EXPECT_TRUE(std::isnan(log_add(kNan, 1.0)));
  EXPECT_TRUE(std::isnan(log_add(1.0, kNan)));
}

TEST(LogOneMinusExp, KeepsPrecisionOnBothEnds) {
  for (const double a : {-1e-300, -1e-20, -1e-8, -0.1, -0.693, -0.694, -1.0, -40.0, -700.0}) {
    const auto expected =
        static_cast<double>(a > -1.0 ? std::log(-std::expm1(static_cast<long double>(a)))
                                     : std::log1p(-std::exp(static_cast<long double>(a))));
    EXPECT_TRUE(is_near(log_one_minus_exp(a), expected, {4e-16, 0.0})) << a;
  }
  EXPECT_EQ(log_one_minus_exp(0.0), kLogZero);
  EXPECT_EQ(log_one_minus_exp(kLogZero), 0.0);
}

TEST(LogSum, AgreesWithLongDouble) {
  std::mt19937_64 generator(1);
  for (std::size_t count = 1; count <= 40; ++count) {
    for (const double spread : {1.0, 50.0, 1e5}) {
      std::vector<double> values(3 * count);  // stride 3, the others must not matter
      long double high = kLogZero, sum = 0.0L;
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = spread * (2.0 * testing::unit(generator) - 1.0);
        if (i % 3 == 0) high = std::max<long double>(high, values[i]);
      }
      for (std::size_t i = 0; i < values.size(); i += 3) sum += std::exp(values[i] - high);
      const auto expected = static_cast<double>(high + std::log(sum));
      EXPECT_TRUE(is_near(log_sum(values.data(), count, 3), expected, {4e-16, 4e-15}));
    }
  }
}

TEST(LogSum, Edges) {
  EXPECT_EQ(log_sum(nullptr, 0), kLogZero);
  const std::vector<double> zeros(4, kLogZero);
  EXPECT_EQ(log_sum(zeros.data(), 4), kLogZero);
  const std::vector<double> one{kLogZero, -1e6, kLogZero};
  EXPECT_EQ(log_sum(one.data(), 3), -1e6);
  const std::vector<double> huge{1e300, 1e300};
  EXPECT_EQ(log_sum(huge.data(), 2), 1e300);
  const std::vector<double> with_nan{0.0, kNan};
  EXPECT_TRUE(std::isnan(log_sum(with_nan.data(), 2)));
}

TEST(LogNormalize, SumsToOne) {
  std::vector<double> values{-1000.0, -1001.0, kLogZero, -1050.0};
  log_normalize(values.data(), values.size());
  double sum = 0.0;
  for (const double value : values) sum += std::exp(value);
  EXPECT_TRUE(is_near(sum, 1.0, {1e-12, 0.0}));  // an ulp of 1000 is 1e-13
  EXPECT_TRUE(is_near(values[0] - values[1], 1.0, {1e-12, 0.0}));
  EXPECT_EQ(values[2], kLogZero);

  std::vector<double> zeros(3, kLogZero);
  log_normalize(zeros.data(), 3);
  EXPECT_EQ(zeros, std::vector<double>(3, kLogZero));
  log_normalize(nullptr, 0);
}

// Distance in units of the last place of the expected value.
double ulps(double actual, long double expected) {
  const double rounded = std::abs(static_cast<double>(expected));
  const double ulp = std::nextafter(rounded, std::numeric_limits<double>::infinity()) - rounded;
  return static_cast<double>(std::abs(static_cast<long double>(actual) - expected) / ulp);
}

TEST(PortableLog, WithinFourUlps) {
  std::mt19937_64 generator(2);
  double worst = 0.0;
  const auto check = [&](double x) {
    const double distance = ulps(portable_log(x), std::log(static_cast<long double>(x)));
    worst = std::max(worst, distance);
    ASSERT_LE(distance, 4.0) << x;
  };
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    for (int i = 0; i < 4; ++i) check(std::ldexp(1.0 + testing::unit(generator), exponent));
  }
  for (int i = 0; i < 4000; ++i) check(0.5 + testing::unit(generator));  // around 1
  for (int i = 1; i < 53; ++i) {
    check(1.0 + std::ldexp(1.0, -i));
    check(1.0 - std::ldexp(1.0, -i));
  }
  for (int i = 2; i <= 2000; ++i) check(i);
  check(std::numeric_limits<double>::max());
  check(std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(portable_log(1.0), 0.0);
  RecordProperty("worst_ulps", std::to_string(worst));
}

}  // namespace
}  // namespace bridgemark
