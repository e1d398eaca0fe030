#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "bridgemark/core/array.h"
#include "bridgemark/core/error.h"

// What potentials of either form ask of their arrays.
namespace bridgemark {

// Throws InvalidArgument unless cores are [D >= 1, S >= 2, K >= 1] and there are K weights.
inline void check_potential_shape(std::string_view weights_name, std::size_t num_weights,
                                  const Array3<double>& log_cores) {
  const std::size_t D = log_cores.extent(0), S = log_cores.extent(1), K = log_cores.extent(2);
  if (D < 1 || S < 2 || K < 1) {
    throw_invalid("potential",
                  "log_cores must have shape [D >= 1, S >= 2, K >= 1], got [{}, {}, {}]", D, S, K);
  }
  if (num_weights != K) {
    throw_invalid("potential", "{} must have {} entries, one for each component, got {}",
                  weights_name, K, num_weights);
  }
}

// The largest of each group of logarithms that are added up may not be further from 0: beyond it,
// what is added to it would be lost to rounding, and with it the law. A common factor of a
// potential changes nothing, so a caller can always move it.
inline constexpr double kMaxLogScale = 1e6;

inline void check_log_scale(std::string_view name, double largest) {
  if (std::isinf(largest) || std::abs(largest) <= kMaxLogScale) return;
  throw_invalid(
      "potential",
      "the largest entry of {} must lie in [-{:g}, {:g}], got {}; subtract it from all of "
      "them",
      name, kMaxLogScale, kMaxLogScale, largest);
}

// Throws InvalidArgument for NaN, +inf and a scale beyond kMaxLogScale.
inline void check_logarithms(std::string_view name, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]) || values[i] == std::numeric_limits<double>::infinity()) {
      throw_invalid("potential", "{} must be finite or -inf, got {} at {}", name, values[i], i);
    }
  }
  if (!values.empty()) check_log_scale(name, *std::max_element(values.begin(), values.end()));
}

inline void check_logarithms(std::string_view name, const Array3<double>& values) {
  const std::size_t rows = values.extent(1), cols = values.extent(2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values.data()[i];
    if (std::isnan(value) || value == std::numeric_limits<double>::infinity()) {
      throw_invalid("potential", "{} must be finite or -inf, got {} at [{}, {}, {}]", name, value,
                    i / cols / rows, i / cols % rows, i % cols);
    }
  }
  for (std::size_t d = 0; d < values.extent(0); ++d) {  // those of a coordinate
    const double* const first = values.data() + d * rows * cols;
    check_log_scale(name, *std::max_element(first, first + rows * cols));
  }
}

}  // namespace bridgemark
