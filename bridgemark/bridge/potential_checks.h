#pragma once

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

// Throws InvalidArgument for NaN and +inf.
inline void check_logarithms(std::string_view name, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]) || values[i] == std::numeric_limits<double>::infinity()) {
      throw_invalid("potential", "{} must be finite or -inf, got {} at {}", name, values[i], i);
    }
  }
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
}

}  // namespace bridgemark
