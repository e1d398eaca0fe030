#include "bridgemark/submission/stated_probabilities.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bridgemark {
namespace {

// E|X/n - p| by the sum over all X.
double enumerated(double p, std::size_t n) {
  double sum = 0.0;
  for (std::size_t x = 0; x <= n; ++x) {
    const auto k = static_cast<double>(x), trials = static_cast<double>(n);
    const double log_choose =
        std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) - std::lgamma(trials - k + 1.0);
    sum += std::exp(log_choose + k * std::log(p) + (trials - k) * std::log1p(-p)) *
           std::abs(k / trials - p);
  }
  return sum;
}

TEST(StatedProbabilities, FrequenciesMissByWhatEnumerationSays) {
  constexpr double kTolerance = 1e-12;
  for (const std::size_t n : {1u, 2u, 7u, 1000u}) {
    for (const double p : {1e-9, 0.001, 0.02, 0.3, 0.5, 0.7, 0.999, 1.0 - 1e-9}) {
      EXPECT_NEAR(mean_frequency_error(p, n), enumerated(p, n), kTolerance) << n << " " << p;
    }
  }
  EXPECT_EQ(mean_frequency_error(0.0, 10), 0.0);
  EXPECT_EQ(mean_frequency_error(1.0, 10), 0.0);
}

}  // namespace
}  // namespace bridgemark
