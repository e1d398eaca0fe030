#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "bridgemark/math/host_device.h"

// Scalar mathematics on logarithms of non-negative numbers. -inf is log 0 and is a valid argument
// everywhere; +inf and NaN are not produced from valid input.
namespace bridgemark {

inline constexpr double kLogZero = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b)); exact in the limits, error below 2 ulp of the result plus 1e-16.
BM_HD inline double log_add(double a, double b) {
  const double high = a > b ? a : b;
  const double low = a > b ? b : a;
  if (low == kLogZero) return high;
  return high + std::log1p(std::exp(low - high));
}

// log(1 - exp(a)) for a <= 0; -inf at a = 0. Two branches keep full precision on both ends.
BM_HD inline double log_one_minus_exp(double a) {
  constexpr double kLogHalf = -0.6931471805599453;
  return a > kLogHalf ? std::log(-std::expm1(a)) : std::log1p(-std::exp(a));
}

// log of the sum of exp over `count` values `stride` apart; -inf for none or all -inf.
BM_HD inline double log_sum(const double* values, std::size_t count, std::size_t stride = 1) {
  double high = kLogZero;
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i * stride] > high) high = values[i * stride];
  }
  if (high == kLogZero) return kLogZero;
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += std::exp(values[i * stride] - high);
  return high + std::log(sum);
}

// Subtracts the log-sum, so that the exponentials add up to one; all -inf stays as it is.
BM_HD inline void log_normalize(double* values, std::size_t count) {
  const double total = log_sum(values, count);
  if (total == kLogZero) return;
  for (std::size_t i = 0; i < count; ++i) values[i] -= total;
}

// Natural logarithm from IEEE operations alone, for constants that are stored in files: the same
// bits on every machine, where the C library's last bit may differ. Finite x > 0, error 4 ulp.
inline double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // [0.5, 1)
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2.0;
    --exponent;
  }
  // log m = 2 artanh(z), z = (m - 1) / (m + 1), |z| < 0.1716: 23 terms reach 1e-17.
  const double z = (mantissa - 1.0) / (mantissa + 1.0);
  const double z2 = z * z;
  double series = 0.0;
  for (int k = 23; k >= 1; k -= 2) series = series * z2 + 1.0 / k;
  constexpr double kLn2High = 0.693147180369123816490;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  return exponent * kLn2High + (2.0 * z * series + exponent * kLn2Low);
}

// sum_s p (log p - log q); terms with p = 0 are 0, and +inf where q = 0 < p, however small p is.
BM_HD inline double log_kl(const double* log_p, const double* log_q, std::size_t count) {
  double sum = 0.0;
  for (std::size_t s = 0; s < count; ++s) {
    if (log_p[s] == kLogZero) continue;
    if (log_q[s] == kLogZero) return -kLogZero;
    sum += std::exp(log_p[s]) * (log_p[s] - log_q[s]);
  }
  return sum;
}

}  // namespace bridgemark
