#pragma once

#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/column_reference.h"

namespace bridgemark {

// The static loss of a CP potential whose columns have categories and references of their own, mean
// log c(x0) - mean log v(x1), with its gradient. What it keeps and does grows with the sum of the
// columns' categories. All is in the log domain: where the gradient goes back through a reference,
// it is a product of numbers that are not negative.
class ColumnLoss {
 public:
  explicit ColumnLoss(ColumnReference reference) : reference_(std::move(reference)) {}

  struct Gradient {
    std::vector<double> log_beta;  // [K]
    Matrix<double> log_cores;      // [total_categories, K]
  };

  // Rows are checked states; log_cores [total_categories, K] are finite.
  double operator()(const Context& context, const std::vector<double>& log_beta,
                    const Matrix<double>& log_cores, StatesView x0, StatesView x1,
                    Gradient& gradient);

 private:
  // out = Q cores of column d, or its transpose times them; both [1,S,K].
  void propagate(const Context& context, std::size_t d, bool transposed,
                 const Array3<double>& log_cores, Array3<double>& out);

  ColumnReference reference_;
  std::vector<Matrix<double>> transposed_;  // powers of columns that are not symmetric, once made
};

}  // namespace bridgemark
