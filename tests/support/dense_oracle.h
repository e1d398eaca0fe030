#pragma once

#include <cstddef>
#include <vector>

#include "bridgemark/core/array.h"

// What a small bridge must be, by summing over every state: dense S^D x S^D matrices of long
// doubles (whose exponents reach 1e-4932, so nothing of a test's size underflows) and none of the
// library's formulas.
namespace bridgemark::testing {

using Wide = Matrix<long double>;

// The elementary matrices as the paper states them, entry by entry.
Wide uniform_step(int num_categories, long double gamma);
Wide gaussian_step(int num_categories, long double gamma);
Wide widen(const Matrix<double>& probabilities);

Wide multiply(const Wide& a, const Wide& b);
// n-th power as n - 1 plain products; the identity for 0.
Wide power(const Wide& matrix, int n);

// The same in logarithms, for entries below 1e-4932: plain log-sum-exp.
Wide log_of(const Wide& matrix);
Wide log_multiply(const Wide& a, const Wide& b);
long double log_sum_wide(const std::vector<long double>& values);

// Q on one coordinate, lifted to the product of `states`: Q^D[x, y] = prod_d Q[x^d, y^d].
Wide lift(const Wide& matrix, const States& states);

class DenseOracle {
 public:
  // step is the elementary matrix [S,S]; log_cores [D,S,K].
  DenseOracle(Wide step, int total_steps, const std::vector<double>& log_beta,
              const Array3<double>& log_cores);

  std::size_t num_states() const { return states_.rows(); }
  const States& states() const { return states_; }

  // Q^n over all states, n elementary steps.
  Wide reference(int n) const { return lift(power(step_, n), states_); }
  const Wide& step() const { return step_; }

  const std::vector<long double>& potential() const { return potential_; }  // v(x)

  // E[v(x1) | x at `rest` elementary steps before the end]; c for rest = total_steps.
  std::vector<long double> phi(int rest) const;

  // q(x1 | x0), [M,M].
  Wide conditional() const { return transition(1, 0); }
  // q(x_{n+1} | x_n) of a chain of num_steps steps, [M,M].
  Wide transition(int num_steps, int n) const;

  // out[x,d,s] = the probability that coordinate d is s under row x of `law`.
  Array3<long double> marginals(const Wide& law) const;

 private:
  Wide step_;
  int total_steps_;
  int num_categories_;
  States states_;
  std::vector<long double> potential_;
};

}  // namespace bridgemark::testing
