#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "bridgemark/math/log_domain.h"

// The exact path of the training kernels: one entry log sum_t exp(log_q[t] + log_r[t*stride]) at a
// time, in double, where a scaled product left its range.
namespace bridgemark::backend::cpu {

// A scaled product below this may have lost terms to underflow; the terms lost above it are below
// 1e-6 of it in float, 1e-30 in double.
template <typename T>
constexpr T linear_floor() {
  return sizeof(T) == 4 ? T(1e-30f) : T(1e-270);
}

// An entry of a product that was computed exactly: its place, and its logarithm.
struct ExactEntry {
  std::size_t row;
  std::size_t component;
  double log_value;
};

template <typename T>
double exact_log_dot(const double* log_q, const T* log_r, std::size_t stride, std::size_t count) {
  double high = kLogZero;
  for (std::size_t t = 0; t < count; ++t) {
    const double value = log_q[t] + static_cast<double>(log_r[t * stride]);
    if (value > high) high = value;
  }
  if (high == kLogZero) return kLogZero;
  double sum = 0.0;
  for (std::size_t t = 0; t < count; ++t) {
    sum += std::exp(log_q[t] + static_cast<double>(log_r[t * stride]) - high);
  }
  return high + std::log(sum);
}

// gradient[t*stride] += weight * exp(log_q[t] + log_r[t*stride] - log_value): the share of each
// term in the entry.
template <typename T>
void add_exact_shares(const double* log_q, const T* log_r, std::size_t stride, std::size_t count,
                      double log_value, double weight, T* gradient) {
  for (std::size_t t = 0; t < count; ++t) {
    const double log_share = log_q[t] + static_cast<double>(log_r[t * stride]) - log_value;
    gradient[t * stride] += static_cast<T>(weight * std::exp(log_share));
  }
}

}  // namespace bridgemark::backend::cpu
