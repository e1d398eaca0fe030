#include "bridgemark/backend/common/scaled_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend {

ScaledRows scale_rows(Matrix<double> log) {
  ScaledRows scaled{std::move(log), {}, {}};
  scaled.linear = Matrix<double>(scaled.rows(), scaled.cols());
  scaled.high.resize(scaled.rows());
  for (std::size_t i = 0; i < scaled.rows(); ++i) {
    const double* row = scaled.log.row(i);
    const double high = scaled.high[i] = *std::max_element(row, row + scaled.cols());
    if (high == kLogZero) continue;
    for (std::size_t j = 0; j < scaled.cols(); ++j) scaled.linear(i, j) = std::exp(row[j] - high);
  }
  return scaled;
}

}  // namespace bridgemark::backend
