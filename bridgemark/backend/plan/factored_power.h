#pragma once

#include <cstddef>
#include <memory>

#include "bridgemark/backend/plan/scaled_rows.h"
#include "bridgemark/core/array.h"

namespace bridgemark::backend {

// A power of a reference that needs no table [S,S]: Q = exp(log_stay) I + L R, where L is [S,r] and
// R is [r,S], all logarithms of numbers that are not negative. Sums of such numbers lose nothing to
// cancellation, so an entry has the accuracy of its terms, however small it is.
//
// A uniform reference has r = 1 and the same number all over; one of low rank has its own r.
struct FactoredPower {
  double log_stay = 0.0;
  Matrix<double> log_left;                  // [S,r]
  std::shared_ptr<const ScaledRows> right;  // [r,S]; powers of a reference share it

  std::size_t num_categories() const { return log_left.rows(); }
  std::size_t rank() const { return log_left.cols(); }

  double log_entry(std::size_t from, std::size_t to) const;

  // log[S] = log Q[from, :] and linear[S] = exp(log - maximum), in O(S r); returns the maximum.
  double scaled_row(std::size_t from, double* log, double* linear) const;

  // out[S] = log Q[from, :].
  void log_row(std::size_t from, double* out) const;

  // out[S] = log Q[:, to].
  void log_column(std::size_t to, double* out) const;

  // log_out[S] = log of the weights exp(log_in) once they have taken the step: Q^T in.
  void log_transport(const double* log_in, double* log_out) const;

  // log Q, [S,S]: for those who need it whole.
  Matrix<double> log_table() const;
};

}  // namespace bridgemark::backend
