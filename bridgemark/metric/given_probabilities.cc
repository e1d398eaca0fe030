#include "bridgemark/metric/given_probabilities.h"

#include <cmath>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

void normalize_given_rows(std::string_view name, MatrixView<double> log_rows) {
  for (std::size_t i = 0; i < log_rows.rows; ++i) {
    double sum = 0.0;
    for (const double value : log_rows.row_span(i)) sum += std::exp(value);
    if (!(std::abs(sum - 1.0) <= kGivenSumTolerance)) {  // NaN and infinity fail, too
      throw_invalid("evaluate",
                    "{} must hold log-probabilities that sum to 1 within {} in each row of {}, got "
                    "{} in row {}",
                    name, kGivenSumTolerance, log_rows.cols, sum, i);
    }
    log_normalize(log_rows.row(i), log_rows.cols);
  }
}

void check_given_joint(std::string_view name, std::span<const double> log_values) {
  for (std::size_t i = 0; i < log_values.size(); ++i) {
    if (log_values[i] <= kGivenSumTolerance) continue;
    throw_invalid("evaluate", "{} must hold log-probabilities, at most 0, got {} in row {}", name,
                  log_values[i], i);
  }
}

}  // namespace bridgemark
