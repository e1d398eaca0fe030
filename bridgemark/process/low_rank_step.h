#pragma once

#include <memory>
#include <vector>

#include "bridgemark/backend/plan/factored_power.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// An elementary step that stays with 1 - gamma, else moves by a matrix of low rank:
// P = (1 - gamma) I + gamma U V^T, with U and V [S,r] not negative and U V^T row-stochastic. Its
// powers are (1 - gamma)^n I + U W_n V^T, and W_n follows from sums and products of r x r matrices
// that are not negative, in the log domain: no entry is ever a difference.
class LowRankStep {
 public:
  // Throws InvalidArgument unless the shapes agree, gamma lies in (0, 1], the entries are finite
  // and not negative, each row of U V^T sums to 1 within 1e-6 (rows of U are scaled to full
  // precision), and each entry of U V^T is positive.
  LowRankStep(Matrix<double> u, Matrix<double> v, double gamma);

  // As they were given.
  const Matrix<double>& u() const { return u_; }
  const Matrix<double>& v() const { return v_; }
  double gamma() const { return gamma_; }
  int num_categories() const { return static_cast<int>(u_.rows()); }
  int rank() const { return static_cast<int>(u_.cols()); }

  // n >= 1.
  backend::FactoredPower power(const Context& context, int n) const;

  // log of the law that a step leaves as it is, [S].
  std::vector<double> log_stationary(const Context& context) const;

  // The step seen backwards under that law: of the same rank and gamma.
  LowRankStep time_reversed(const Context& context) const;

  // The mean of |y - x| over a uniform x and a step x -> y, in O(S r).
  double expected_movement() const;

 private:
  Matrix<double> log_weights(const Context& context, int n) const;  // W_n, [r,r]

  Matrix<double> u_, v_;
  double gamma_;
  double log_stay_;                                   // log(1 - gamma)
  Matrix<double> log_u_;                              // [S,r], of the scaled rows
  Matrix<double> log_gram_;                           // V^T U, [r,r]
  std::shared_ptr<const backend::ScaledRows> right_;  // V^T, [r,S]
};

}  // namespace bridgemark
