#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace bridgemark::testing {

inline constexpr double kFloatError = 1e-4;  // of the largest entry, as for the CPU's float32

// A gradient in float32 against the exact one: finite, and off by little beside its largest entry
// or, where the addends cancel, beside `addends`.
inline void expect_close(std::span<const float> values, std::span<const double> exact,
                         double addends = 1e-3) {
  ASSERT_EQ(values.size(), exact.size());
  double largest = addends, error = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_TRUE(std::isfinite(values[i])) << i;
    largest = std::max(largest, std::abs(exact[i]));
    error = std::max(error, std::abs(static_cast<double>(values[i]) - exact[i]));
  }
  EXPECT_LE(error, kFloatError * largest);
}

}  // namespace bridgemark::testing
