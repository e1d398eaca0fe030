#pragma once

#include <span>

namespace bridgemark {

// A mean of independent values with its standard error.
struct MeanEstimate {
  double mean = 0.0;
  double standard_error = 0.0;  // NaN for fewer than two values
};

// NaN for no value at all.
MeanEstimate estimate_mean(std::span<const double> values);

}  // namespace bridgemark
