#pragma once

#include <cmath>
#include <cstddef>

#include "bridgemark/math/categorical.h"

namespace bridgemark::backend::cuda {

// The category of weight a[s] * b[s], by the same sums as cumulate_product but without storing
// them.
__device__ inline std::size_t draw_product(const double* a, const double* b, const double* log_a,
                                           const double* log_b, std::size_t count, double uniform) {
  double total = 0.0;
  for (std::size_t s = 0; s < count; ++s) total += a[s] * b[s];
  const bool linear = total >= kLinearFloor;
  double high = kLogZero;
  if (!linear) {
    for (std::size_t s = 0; s < count; ++s) high = fmax(high, log_a[s] + log_b[s]);
    total = 0.0;
    for (std::size_t s = 0; s < count; ++s) total += exp(log_a[s] + log_b[s] - high);
  }
  const double threshold = uniform * total;
  double sum = 0.0;
  for (std::size_t s = 0; s + 1 < count; ++s) {
    sum += linear ? a[s] * b[s] : exp(log_a[s] + log_b[s] - high);
    if (sum > threshold) return s;
  }
  return count - 1;
}

}  // namespace bridgemark::backend::cuda
