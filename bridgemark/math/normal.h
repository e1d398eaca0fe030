#pragma once

#include <cmath>
#include <numbers>

#include "bridgemark/math/host_device.h"
#include "bridgemark/math/philox.h"

namespace bridgemark {

// P(Z <= x) for a standard normal Z; full relative precision in the lower tail.
BM_HD inline double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// P(a < Z <= b) with a <= b, taken in the tail where it does not cancel.
BM_HD inline double normal_interval(double a, double b) {
  return a > 0.0 ? normal_cdf(-a) - normal_cdf(-b) : normal_cdf(b) - normal_cdf(a);
}

// One standard normal from two uniforms (Box-Muller, cosine branch).
BM_HD inline double draw_normal(DrawSequence& draws) {
  const double radius = std::sqrt(-2.0 * std::log1p(-draws.uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * draws.uniform());
}

}  // namespace bridgemark
