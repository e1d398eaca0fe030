#include "bridgemark/math/reproducible_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace bridgemark {
namespace {

std::vector<double> terms(std::size_t count, double scale) {
  std::mt19937_64 generator(count);
  std::uniform_real_distribution<double> exponent(-60.0, 0.0);
  std::vector<double> values(count);
  for (double& value : values) value = scale * std::exp2(exponent(generator));
  return values;
}

double sum_of(const std::vector<double>& values) {
  ReproducibleSum sum;
  for (const double value : values) sum.add(value);
  return sum.value();
}

TEST(ReproducibleSum, HasTheSameBitsInAnyOrderAndGrouping) {
  for (const double scale : {1.0, -128.0, 1e-3}) {
    std::vector<double> values = terms(10000, scale);
    const double once = sum_of(values);
    std::mt19937_64 generator(5);
    for (int repeat = 0; repeat < 5; ++repeat) {
      std::shuffle(values.begin(), values.end(), generator);
      EXPECT_EQ(sum_of(values), once);
      ReproducibleSum parts[3], all;
      for (std::size_t i = 0; i < values.size(); ++i) parts[i * i % 3].add(values[i]);
      for (const ReproducibleSum& part : parts) {
        all.coarse += part.coarse;
        all.fine += part.fine;
      }
      EXPECT_EQ(all.value(), once);
    }
  }
}

TEST(ReproducibleSum, IsAsExactAsItsFinePart) {
  const std::vector<double> values = terms(1000, 128.0);
  long double exact = 0.0L;
  for (const double value : values) exact += value;
  EXPECT_NEAR(sum_of(values), static_cast<double>(exact), 1000 * 0x1p-52 + 1e-16 * double(exact));
  EXPECT_EQ(sum_of({}), 0.0);
  EXPECT_EQ(sum_of({1.0, 0x1p-51}), 1.0 + 0x1p-51);
}

TEST(ReproducibleSum, KeepsWhatIsNotANumber) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(sum_of({1.0, std::nan(""), 2.0})));
  EXPECT_TRUE(std::isnan(sum_of({1.0, infinity})));
}

}  // namespace
}  // namespace bridgemark
