#include "bridgemark/bridge/path_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bridgemark {

// With the law's own weights before[d,k] of all paths to z_d = k, the constant of L_d is
// sum_k lambda_d(k) before[d,k] less the mean of the emissions before d: so much is log L_d at 0
// when alpha and u are the law's. The scales of the chain's linear tables go in here as well.
PathBound::PathBound(const HiddenChain& chain, const HiddenChain& paths,
                     const Matrix<double>& lambda, const Matrix<double>& gain)
    : lambda_(lambda), gain_(gain), constant_(chain.D + 1) {
  const std::size_t D = chain.D, S = chain.S, K = chain.K;
  const std::vector<std::int32_t> zeros(D);
  Matrix<double> before(D, K);
  log_paths_before(paths, zeros.data(), before.data());
  const auto mean = [&](std::size_t d, const double* values) {
    double sum = 0.0;
    for (std::size_t k = 0; k < K; ++k) {
      if (lambda_(d, k) > 0.0) sum += lambda_(d, k) * values[k];
    }
    return sum;
  };
  double scales = *std::max_element(chain.log_start, chain.log_start + K), emitted = 0.0;
  for (std::size_t d = 0; d < D; ++d) {
    constant_[d] = mean(d, before.row(d)) - emitted - scales;
    emitted += mean(d, paths.log_emission_at(zeros.data(), d));
    if (d + 1 < D) {
      const double* moves = chain.log_moves + d * K * K;
      scales += *std::max_element(moves, moves + K * K);
    }
    for (std::size_t s = 0; s < S; ++s) {
      const double* log_u = chain.log_emission + (d * S + s) * K;
      const double scale = *std::max_element(log_u, log_u + K);
      if (scale > kLogZero) gain_(d, s) -= scale;
    }
  }
  std::vector<double> last(K);
  for (std::size_t k = 0; k < K; ++k) {
    last[k] = before(D - 1, k) + paths.log_emission_at(zeros.data(), D - 1)[k];
  }
  constant_[D] = log_sum(last.data(), K) - emitted - scales;
}

void PathBound::start(const HiddenChain& chain, double* weights) const {
  std::copy_n(chain.start, chain.K, weights);
}

void PathBound::add(const HiddenChain& chain, std::size_t d, std::size_t s, double* weights,
                    double* scratch, Beginning& beginning) const {
  const std::size_t K = chain.K;
  const double* emission = chain.emission + (d * chain.S + s) * K;
  double scale = 0.0;
  if (d + 1 < chain.D) {
    scale = scaled_paths_step(weights, emission, chain.moves + d * K * K, K, scratch);
    std::copy_n(scratch, K, weights);
  } else {
    for (std::size_t k = 0; k < K; ++k) scale += weights[k] * emission[k];
  }
  beginning.lost = lost_to_underflow(beginning.lost, scale, K);
  beginning.log_ratio += gain_(d, s);
  if (scale != 1.0) beginning.log_ratio -= std::log(scale);
}

double PathBound::log_bound(std::size_t d, const double* weights,
                            const Beginning& beginning) const {
  constexpr double kPrecision = 1e-20;
  double log_bound = beginning.log_ratio + constant_[d];
  for (std::size_t k = 0; k < lambda_.cols(); ++k) {
    if (lambda_(d, k) == 0.0) continue;
    if (!(weights[k] * kPrecision > beginning.lost)) return std::numeric_limits<double>::infinity();
    log_bound -= lambda_(d, k) * std::log(weights[k]);
  }
  return log_bound;
}

}  // namespace bridgemark
