#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

// Goodness of fit of samplers. Seeds are fixed, so a check either always passes or always fails;
// the rate is that of a right sampler failing when a seed is chosen anew.
namespace bridgemark::testing {

inline constexpr double kFalseAlarmRate = 1e-6;

// Q(a, x), the regularised upper incomplete gamma function: series below a + 1, Lentz's continued
// fraction above. a > 0, x >= 0; relative error about 1e-12.
inline double upper_gamma(double a, double x) {
  if (x <= 0.0) return 1.0;
  const double scale = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1.0) {
    double term = 1.0 / a, sum = term;
    for (int n = 1; n < 10000 && term > sum * 1e-16; ++n) sum += term *= x / (a + n);
    return 1.0 - scale * sum;
  }
  double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, fraction = d;
  for (int n = 1; n < 10000; ++n) {
    const double numerator = -n * (n - a);
    b += 2.0;
    d = 1.0 / (numerator * d + b);
    c = b + numerator / c;
    fraction *= d * c;
    if (std::abs(d * c - 1.0) < 1e-15) break;
  }
  return scale * fraction;
}

// p-value of Pearson's statistic of `counts` against `probabilities` (which need not be normalised
// to the last bit). Cells that expect fewer than 5 are pooled; a count where the probability is 0
// gives 0.
inline double chi_square_p_value(std::span<const std::size_t> counts,
                                 std::span<const double> probabilities) {
  double total = 0.0, mass = 0.0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0 && !(probabilities[i] > 0.0)) return 0.0;
    total += static_cast<double>(counts[i]);
    mass += probabilities[i];
  }
  if (!(std::abs(mass - 1.0) < 1e-6)) return 0.0;
  double statistic = 0.0, pooled_count = 0.0, pooled_expected = 0.0;
  int cells = 0;
  const auto add = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * probabilities[i];
    if (expected >= 5.0) {
      add(static_cast<double>(counts[i]), expected);
    } else {
      pooled_count += static_cast<double>(counts[i]);
      pooled_expected += expected;
    }
  }
  if (pooled_expected >= 5.0) {
    add(pooled_count, pooled_expected);
  } else if (pooled_count > 40.0) {
    return 0.0;  // fewer than 5 expected in all: a Poisson tail below 1e-20
  }
  return cells < 2 ? 1.0 : upper_gamma(0.5 * (cells - 1), 0.5 * statistic);
}

// For EXPECT_TRUE.
inline ::testing::AssertionResult fits(std::span<const std::size_t> counts,
                                       std::span<const double> probabilities) {
  if (counts.size() != probabilities.size()) {
    return ::testing::AssertionFailure()
           << counts.size() << " cells, " << probabilities.size() << " probabilities";
  }
  const double p = chi_square_p_value(counts, probabilities);
  if (p >= kFalseAlarmRate) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "p-value " << p << " is below the false-alarm rate " << kFalseAlarmRate;
}

}  // namespace bridgemark::testing
