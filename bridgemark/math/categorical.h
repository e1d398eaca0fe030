#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "bridgemark/math/host_device.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/philox.h"

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

// Rows of cumulative sums that are searched side by side.
inline constexpr std::size_t kSearchedRows = 8;

// out[i] = draw_category(rows[i], count, uniforms[i]) for kSearchedRows rows. They take their steps
// together, so that the memory of one is waited for beside that of the others.
inline void draw_categories(const double* const* rows, std::size_t count, const double* uniforms,
                            std::int32_t* out) {
  std::array<double, kSearchedRows> thresholds;
  std::array<std::size_t, kSearchedRows> firsts{};
  for (std::size_t i = 0; i < kSearchedRows; ++i) thresholds[i] = uniforms[i] * rows[i][count - 1];
  for (std::size_t length = count - 1; length > 0;) {
    const std::size_t half = (length + 1) / 2;
    for (std::size_t i = 0; i < kSearchedRows; ++i) {
      firsts[i] += (std::size_t{0} - (rows[i][firsts[i] + half - 1] <= thresholds[i])) & half;
    }
    length -= half;
  }
  for (std::size_t i = 0; i < kSearchedRows; ++i) out[i] = static_cast<std::int32_t>(firsts[i]);
}

// out[i] = draw_category(row_of(i), S, the next draw) for i < count.
template <typename RowOf>
void draw_categories(std::size_t count, std::size_t S, RowOf&& row_of, DrawSequence& draws,
                     std::int32_t* out) {
  std::array<const double*, kSearchedRows> rows;
  std::array<double, kSearchedRows> uniforms;
  std::size_t i = 0;
  for (; i + kSearchedRows <= count; i += kSearchedRows) {
    for (std::size_t j = 0; j < kSearchedRows; ++j) {
      rows[j] = row_of(i + j);
      uniforms[j] = draws.uniform();
    }
    draw_categories(rows.data(), S, uniforms.data(), out + i);
  }
  for (; i < count; ++i) {
    out[i] = static_cast<std::int32_t>(draw_category(row_of(i), S, draws.uniform()));
  }
}

// One of the steps 0..num_steps-1: by the cumulative sums of their probabilities, or evenly where
// there are none.
BM_HD inline int draw_time(const double* cumulative, int num_steps, double uniform) {
  return cumulative == nullptr ? static_cast<int>(uniform * num_steps)
                               : static_cast<int>(draw_category(
                                     cumulative, static_cast<std::size_t>(num_steps), uniform));
}

}  // namespace bridgemark
