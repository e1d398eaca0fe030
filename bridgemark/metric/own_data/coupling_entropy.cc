#include "bridgemark/metric/own_data/coupling_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bridgemark {

namespace {

constexpr std::size_t kMaxEntries = std::size_t{1} << 22;  // 32 MiB of marginals at a time

double entropy_of(double probability) {
  return probability > 0.0 ? -probability * std::log(probability) : 0.0;
}

}  // namespace

MeanEstimate conditional_entropy(const Context& context, const Coupling& coupling, StatesView x0,
                                 StatesView x1) {
  std::vector<double> surprise(x0.rows);
  coupling.log_conditional(context, x0, x1, surprise);
  for (double& value : surprise) value = -value;
  return estimate_mean(surprise);
}

MeanEstimate told_share(const Context& context, const Coupling& coupling, StatesView x0) {
  const std::size_t D = x0.cols, S = static_cast<std::size_t>(coupling.num_categories());
  const std::size_t part = std::clamp<std::size_t>(kMaxEntries / (D * S), 1, x0.rows);
  std::vector<double> given(x0.rows, 0.0);  // sum_d H(x1^d | x0) of each row
  std::vector<double> mixture(D * S, 0.0);  // the law of x1^d, from all rows
  Array3<double> log_marginals;
  for (std::size_t first = 0; first < x0.rows; first += part) {
    const std::size_t rows = std::min(part, x0.rows - first);
    coupling.log_marginals(context, x0.slice(first, rows), log_marginals);
    for (std::size_t i = 0; i < rows; ++i) {
      const double* row = log_marginals.data() + i * D * S;
      for (std::size_t j = 0; j < D * S; ++j) {
        const double probability = std::exp(row[j]);
        given[first + i] += entropy_of(probability);
        mixture[j] += probability;
      }
    }
  }
  double whole = 0.0;
  for (const double sum : mixture) whole += entropy_of(sum / static_cast<double>(x0.rows));
  if (!(whole > 0.0)) {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    return {kNaN, kNaN};
  }
  const MeanEstimate left = estimate_mean(given);
  return {1.0 - left.mean / whole, left.standard_error / whole};
}

}  // namespace bridgemark
