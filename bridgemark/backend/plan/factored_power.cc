#include "bridgemark/backend/plan/factored_power.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend {

namespace {

// log sum_j exp(left[j] + R[j, to]) by the log domain alone.
double log_move(const double* left, const Matrix<double>& log_right, std::size_t to) {
  double high = kLogZero;
  for (std::size_t j = 0; j < log_right.rows(); ++j) {
    high = std::max(high, left[j] + log_right(j, to));
  }
  if (high == kLogZero) return kLogZero;
  double sum = 0.0;
  for (std::size_t j = 0; j < log_right.rows(); ++j) {
    sum += std::exp(left[j] + log_right(j, to) - high);
  }
  return high + std::log(sum);
}

}  // namespace

double FactoredPower::log_entry(std::size_t from, std::size_t to) const {
  const double moved = log_move(log_left.row(from), right->log, to);
  return from == to ? log_add(log_stay, moved) : moved;
}

double FactoredPower::scaled_row(std::size_t from, double* log, double* linear) const {
  const std::size_t S = num_categories(), r = rank();
  const double* left = log_left.row(from);
  double high = kLogZero;
  for (std::size_t j = 0; j < r; ++j) high = std::max(high, left[j] + right->high[j]);
  std::fill_n(linear, S, 0.0);
  for (std::size_t j = 0; j < r; ++j) {
    if (left[j] == kLogZero || right->high[j] == kLogZero) continue;
    const double weight = std::exp(left[j] + right->high[j] - high);
    const double* factor = right->linear.row(j);
    for (std::size_t s = 0; s < S; ++s) linear[s] += weight * factor[s];
  }
  for (std::size_t s = 0; s < S; ++s) {
    if (r == 1) {
      log[s] = left[0] + right->log(0, s);  // no logarithm is needed
    } else {
      // Below the floor the scaled sum may have lost terms.
      log[s] =
          linear[s] >= kLinearFloor ? high + std::log(linear[s]) : log_move(left, right->log, s);
    }
  }
  // The sums are scaled to a maximum of 1 or up to r: bring them to that of the row.
  log[from] = log_add(log_stay, log[from]);
  const double highest = *std::max_element(log, log + S);
  const double scale = high == kLogZero ? 0.0 : std::exp(high - highest);
  for (std::size_t s = 0; s < S; ++s) linear[s] *= scale;
  linear[from] = std::exp(log[from] - highest);
  return highest;
}

void FactoredPower::log_row(std::size_t from, double* out) const {
  std::vector<double> linear(num_categories());
  scaled_row(from, out, linear.data());
}

void FactoredPower::log_column(std::size_t to, double* out) const {
  const std::size_t S = num_categories(), r = rank();
  std::vector<double> terms(r);
  for (std::size_t s = 0; s < S; ++s) {
    const double* left = log_left.row(s);
    for (std::size_t j = 0; j < r; ++j) terms[j] = left[j] + right->log(j, to);
    out[s] = log_sum(terms.data(), r);
  }
  out[to] = log_add(log_stay, out[to]);
}

void FactoredPower::log_transport(const double* log_in, double* log_out) const {
  const std::size_t S = num_categories(), r = rank();
  std::vector<double> terms(S), at_factors(r);
  for (std::size_t j = 0; j < r; ++j) {
    for (std::size_t s = 0; s < S; ++s) terms[s] = log_in[s] + log_left(s, j);
    at_factors[j] = log_sum(terms.data(), S);
  }
  for (std::size_t s = 0; s < S; ++s) {
    log_out[s] = log_add(log_stay + log_in[s], log_move(at_factors.data(), right->log, s));
  }
}

Matrix<double> FactoredPower::log_table() const {
  const std::size_t S = num_categories();
  Matrix<double> table(S, S);
  for (std::size_t s = 0; s < S; ++s) log_row(s, table.row(s));
  return table;
}

}  // namespace bridgemark::backend
