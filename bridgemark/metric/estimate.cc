#include "bridgemark/metric/estimate.h"

#include <cmath>
#include <limits>

namespace bridgemark {

MeanEstimate estimate_mean(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0.0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double variance =
      values.size() < 2 ? std::numeric_limits<double>::quiet_NaN() : squares / (count - 1.0);
  return {mean, std::sqrt(variance / count)};
}

}  // namespace bridgemark
