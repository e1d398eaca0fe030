#pragma once

#include <cmath>
#include <cstddef>

#include "bridgemark/math/host_device.h"
#include "bridgemark/math/log_domain.h"

// The exact path of the kernels: an entry of a product in the log domain, in double, where a scaled
// product left its range. The vector kernel of the CPU has the same sum (cpu/simd/vector_math.cc);
// a test holds them together.
namespace bridgemark {

// log sum_t exp(a[t] + b[t * stride]); -inf where no term is finite.
template <typename A, typename B>
BM_HD inline double exact_log_dot(const A* a, const B* b, std::size_t stride, std::size_t count) {
  const auto term = [=](std::size_t t) {
    return static_cast<double>(a[t]) + static_cast<double>(b[t * stride]);
  };
  double high = kLogZero;
  for (std::size_t t = 0; t < count; ++t) {
    if (term(t) > high) high = term(t);
  }
  if (high == kLogZero) return kLogZero;
  double sum = 0.0;
  for (std::size_t t = 0; t < count; ++t) sum += std::exp(term(t) - high);
  return high + std::log(sum);
}

// out[t * stride] += weight times the share of term t in a sum whose logarithm is log_value.
template <typename T>
BM_HD inline void add_exact_shares(const double* a, const T* b, std::size_t stride,
                                   std::size_t count, double log_value, double weight, T* out) {
  for (std::size_t t = 0; t < count; ++t) {
    const double log_share = a[t] + static_cast<double>(b[t * stride]) - log_value;
    out[t * stride] += static_cast<T>(weight * std::exp(log_share));
  }
}

}  // namespace bridgemark
