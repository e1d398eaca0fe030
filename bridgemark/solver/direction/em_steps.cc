#include "bridgemark/solver/direction/em_steps.h"

#include <cmath>

namespace bridgemark {

Array3<double> likeliest_cores(const std::vector<double>& counts, const std::vector<double>& shares,
                               std::size_t share_stride, const Matrix<double>& base,
                               double pseudo_rows) {
  const std::size_t D = base.rows(), S = base.cols(), J = counts.size() / (D * S);
  Array3<double> log_cores(D, S, J);
  for (std::size_t d = 0; d < D; ++d) {
    const double* share = shares.data() + d * share_stride;
    for (std::size_t s = 0; s < S; ++s) {
      for (std::size_t j = 0; j < J; ++j) {
        log_cores(d, s, j) = std::log((counts[(d * S + s) * J + j] + pseudo_rows * base(d, s)) /
                                      (share[j] + pseudo_rows));
      }
    }
  }
  return log_cores;
}

}  // namespace bridgemark
