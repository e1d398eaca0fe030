#include "bridgemark/bridge/path_posteriors.h"

#include <algorithm>
#include <cmath>

#include "bridgemark/math/log_domain.h"

namespace bridgemark {

PathPosteriors::PathPosteriors(std::size_t dim, std::size_t num_states)
    : D_(dim),
      K_(num_states),
      before_(dim * num_states),
      after_(dim * num_states),
      states_(dim * num_states),
      scratch_(num_states),
      scale_(dim, 1.0),
      sums_(dim) {}

double PathPosteriors::pass(const HiddenChain& chain, const std::int32_t* x, double log_scale) {
  double log_total = log_scale;
  is_linear_ = linear_pass(chain, x, log_total);
  if (is_linear_) return log_total;
  log_pass(chain, x);
  return log_total_;
}

// False where more may be lost than kPrecision. A loss does not grow on the way, as moves add up to
// at most 1: only scaling up makes it larger.
bool PathPosteriors::linear_pass(const HiddenChain& chain, const std::int32_t* x,
                                 double& log_total) {
  constexpr double kPrecision = 1e-20;  // of a sum, that underflow may have taken
  constexpr double kSmallest = 1e-307;  // of a product: what lies below may be lost
  const auto K = static_cast<double>(K_);
  double lost_after = 0.0, lost_before = K * kSmallest;  // from an entry, and from all together
  std::fill_n(after_.data() + (D_ - 1) * K_, K_, 1.0);
  std::vector<double>& weights = scratch_;
  for (std::size_t d = D_ - 1; d-- > 0;) {
    const double *emission = chain.emission_at(x, d + 1), *next = after_.data() + (d + 1) * K_;
    double *after = after_.data() + d * K_, high = 0.0;
    for (std::size_t k = 0; k < K_; ++k) weights[k] = emission[k] * next[k];
    for (std::size_t k = 0; k < K_; ++k) {
      const double* moves = chain.moves + (d * K_ + k) * K_;
      double sum = 0.0;
      for (std::size_t to = 0; to < K_; ++to) sum += moves[to] * weights[to];
      after[k] = sum;
      high = std::max(high, sum);
    }
    if (!(high > 0.0)) return false;
    for (std::size_t k = 0; k < K_; ++k) after[k] /= high;
    lost_after = (lost_after + 2.0 * K * kSmallest) / high;
  }
  std::copy_n(chain.start, K_, before_.data());
  for (std::size_t d = 0; d < D_; ++d) {
    const double *before = before_.data() + d * K_, *after = after_.data() + d * K_,
                 *emission = chain.emission_at(x, d), *log_emission = chain.log_emission_at(x, d);
    double *states = states_.data() + d * K_, sum = 0.0, all = 0.0;
    for (std::size_t k = 0; k < K_; ++k) {
      states[k] = before[k] * emission[k] * after[k];
      sum += states[k];
      all += before[k];
    }
    const double lost = lost_before + all * lost_after + 2.0 * K * kSmallest;
    if (!(sum * kPrecision > lost)) return false;
    for (std::size_t k = 0; k < K_; ++k) states[k] /= sum;
    sums_[d] = sum;
    log_total += *std::max_element(log_emission, log_emission + K_);
    if (d + 1 == D_) break;
    const double scale = scaled_paths_step(before, emission, chain.moves + d * K_ * K_, K_,
                                           before_.data() + (d + 1) * K_);
    lost_before = (lost_before + 2.0 * K * K * kSmallest) / scale;
    scale_[d + 1] = scale;
    if (scale != 1.0) log_total += std::log(scale);
  }
  log_total += std::log(sums_[D_ - 1]);
  return true;
}

void PathPosteriors::log_pass(const HiddenChain& chain, const std::int32_t* x) {
  log_paths_before(chain, x, before_.data());
  log_paths_after(chain, x, after_.data());
  log_total_ = log_sum_of_sums(before_.data(), 1, chain.log_emission_at(x, 0), after_.data(), K_);
  for (std::size_t d = 0; d < D_; ++d) {
    const double* log_emission = chain.log_emission_at(x, d);
    for (std::size_t k = 0; k < K_; ++k) {
      const std::size_t i = d * K_ + k;
      states_[i] = std::exp(before_[i] + log_emission[k] + after_[i] - log_total_);
    }
  }
}

void PathPosteriors::add_moves(const HiddenChain& chain, const std::int32_t* x, std::size_t d,
                               double* sums) const {
  const double *before = before_.data() + d * K_, *after = after_.data() + (d + 1) * K_;
  if (is_linear_) {
    const double *from = chain.emission_at(x, d), *to = chain.emission_at(x, d + 1);
    const double total = scale_[d + 1] * sums_[d + 1];
    for (std::size_t i = 0; i < K_; ++i) {
      const double weight = before[i] * from[i] / total;
      const double* moves = chain.moves + (d * K_ + i) * K_;
      for (std::size_t j = 0; j < K_; ++j) {
        sums[i * K_ + j] += weight * moves[j] * (to[j] * after[j]);
      }
    }
    return;
  }
  const double *from = chain.log_emission_at(x, d), *to = chain.log_emission_at(x, d + 1);
  for (std::size_t i = 0; i < K_; ++i) {
    const double* moves = chain.log_moves + (d * K_ + i) * K_;
    for (std::size_t j = 0; j < K_; ++j) {
      sums[i * K_ + j] += std::exp(before[i] + from[i] + moves[j] + to[j] + after[j] - log_total_);
    }
  }
}

}  // namespace bridgemark
