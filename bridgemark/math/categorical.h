#pragma once

#include <cmath>
#include <cstddef>

#include "bridgemark/math/host_device.h"
#include "bridgemark/math/log_domain.h"

// Drawing from a categorical distribution by inverting its cumulative sums. The sums are plain
// sequential additions, so a row prepared in advance and a row made on the spot hold the same bits
// and give the same draw.
namespace bridgemark {

// Below this total a scaled linear product may have lost terms to underflow; above it, terms lost
// are under 1e-30 of the total and the product is exact to rounding.
inline constexpr double kLinearFloor = 1e-270;

// cumulative[i] = sum over j <= i of exp(log_weights[j] - max); needs one finite weight.
BM_HD inline void cumulate_log(const double* log_weights, std::size_t count, double* cumulative) {
  double high = kLogZero;
  for (std::size_t i = 0; i < count; ++i) {
    if (log_weights[i] > high) high = log_weights[i];
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += std::exp(log_weights[i] - high);
    cumulative[i] = sum;
  }
}

// The largest log_a + log_b.
BM_HD inline double highest_product(const double* log_a, const double* log_b, std::size_t count) {
  double high = kLogZero;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = log_a[i] + log_b[i];
    if (value > high) high = value;
  }
  return high;
}

// cumulative[i] = sum over j <= i of a[j] * b[j], for factors scaled to a maximum of 1. Where the
// total is too small to be trusted the exact path over log_a + log_b replaces it.
BM_HD inline void cumulate_product(const double* a, const double* b, const double* log_a,
                                   const double* log_b, std::size_t count, double* cumulative) {
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += a[i] * b[i];
    cumulative[i] = sum;
  }
  if (sum >= kLinearFloor) return;
  const double high = highest_product(log_a, log_b, count);
  sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += std::exp(log_a[i] + log_b[i] - high);
    cumulative[i] = sum;
  }
}

// The category a uniform on [0, 1) falls in: the first whose cumulative sum exceeds its share of
// the total. A category of probability zero is never drawn.
BM_HD inline std::size_t draw_category(const double* cumulative, std::size_t count,
                                       double uniform) {
  const double threshold = uniform * cumulative[count - 1];
  std::size_t first = 0;
  std::size_t length = count - 1;  // the last category needs no test
  while (length > 0) {
    const std::size_t half = (length + 1) / 2;
    // A mask instead of a branch: which way the search turns cannot be predicted.
    first += (std::size_t{0} - (cumulative[first + half - 1] <= threshold)) & half;
    length -= half;
  }
  return first;
}

// The same by the sums of cumulate_product, which are made twice instead of stored.
BM_HD inline std::size_t draw_product(const double* a, const double* b, const double* log_a,
                                      const double* log_b, std::size_t count, double uniform) {
  double total = 0.0;
  for (std::size_t s = 0; s < count; ++s) total += a[s] * b[s];
  const bool linear = total >= kLinearFloor;
  double high = kLogZero;
  if (!linear) {
    high = highest_product(log_a, log_b, count);
    total = 0.0;
    for (std::size_t s = 0; s < count; ++s) total += std::exp(log_a[s] + log_b[s] - high);
  }
  const double threshold = uniform * total;
  double sum = 0.0;
  for (std::size_t s = 0; s + 1 < count; ++s) {
    sum += linear ? a[s] * b[s] : std::exp(log_a[s] + log_b[s] - high);
    if (sum > threshold) return s;
  }
  return count - 1;
}

// One of the steps 0..num_steps-1: by the cumulative sums of their probabilities, or evenly where
// there are none.
BM_HD inline int draw_time(const double* cumulative, int num_steps, double uniform) {
  return cumulative == nullptr ? static_cast<int>(uniform * num_steps)
                               : static_cast<int>(draw_category(
                                     cumulative, static_cast<std::size_t>(num_steps), uniform));
}

}  // namespace bridgemark
