#pragma once

#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark::backend {

// Logarithms beside their exponentials, each row scaled to a maximum of 1: a product of two such
// rows is cheap, and the logarithms are there for the exact path (math/categorical.h).
struct ScaledRows {
  Matrix<double> log;        // [rows, cols]
  Matrix<double> linear;     // [rows, cols], exp(log - maximum of the row)
  std::vector<double> high;  // [rows], the maxima

  std::size_t rows() const { return log.rows(); }
  std::size_t cols() const { return log.cols(); }
};

ScaledRows scale_rows(Matrix<double> log);

// The same on the context's threads, for large tables.
ScaledRows scale_rows(const Context& context, Matrix<double> log);

}  // namespace bridgemark::backend
