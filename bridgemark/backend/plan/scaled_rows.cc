#include "bridgemark/backend/plan/scaled_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend {

ScaledRows scale_rows(Matrix<double> log) {
  return scale_rows(Context{.num_threads = 1}, std::move(log));
}

ScaledRows scale_rows(const Context& context, Matrix<double> log) {
  ScaledRows scaled{std::move(log), {}, {}};
  const std::size_t cols = scaled.cols();
  scaled.linear = Matrix<double>(scaled.rows(), cols);
  scaled.high.resize(scaled.rows());
  parallel_blocks(context, scaled.rows(), 1024, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const double* row = scaled.log.row(i);
      const double high = scaled.high[i] = *std::max_element(row, row + cols);
      if (high == kLogZero) continue;
      for (std::size_t j = 0; j < cols; ++j) scaled.linear(i, j) = std::exp(row[j] - high);
    }
  });
  return scaled;
}

}  // namespace bridgemark::backend
