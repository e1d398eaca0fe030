#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace bridgemark::testing {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How far a value may lie from the expected one: rel * |expected| + abs.
struct Tolerance {
  double rel = 0.0;
  double abs = 0.0;
};

// Infinities must be the same infinity; NaN on either side is never near.
inline bool near(double actual, double expected, Tolerance tolerance) {
  if (std::isnan(actual) || std::isnan(expected)) return false;
  if (std::isinf(actual) || std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= tolerance.rel * std::abs(expected) + tolerance.abs;
}

// For EXPECT_TRUE: says what was got, what was expected and how far apart they are.
inline ::testing::AssertionResult is_near(double actual, double expected, Tolerance tolerance) {
  if (near(actual, expected, tolerance)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "got " << ::testing::PrintToString(actual) << ", expected "
         << ::testing::PrintToString(expected) << ", difference " << actual - expected
         << " with rel " << tolerance.rel << " and abs " << tolerance.abs;
}

// The same for every entry; names the first bad one and counts the others.
inline ::testing::AssertionResult all_near(std::span<const double> actual,
                                           std::span<const double> expected, Tolerance tolerance) {
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure()
           << "got " << actual.size() << " values, expected " << expected.size();
  }
  std::size_t bad = 0, first = 0;
  for (std::size_t i = actual.size(); i-- > 0;) {
    if (near(actual[i], expected[i], tolerance)) continue;
    ++bad;
    first = i;
  }
  if (bad == 0) return ::testing::AssertionSuccess();
  return is_near(actual[first], expected[first], tolerance)
         << "; at " << first << ", " << bad << " of " << actual.size() << " are wrong";
}

}  // namespace bridgemark::testing
