#include "bridgemark/bridge/tilted_chain.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

// log sum_i a[i] b[i], for factors scaled to a maximum of 1 beside their logarithms.
double log_of_product(const double* a, const double* b, const double* log_a, const double* log_b,
                      std::size_t count) {
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum >= kLinearFloor ? std::log(sum) : log_sum_of_sums(log_a, 1, log_b, nullptr, count);
}

}  // namespace

SourceChain::SourceChain(const ChainPotential& potential)
    : log_start_(potential.log_start()),
      log_moves_(potential.log_moves()),
      log_cores_(potential.log_cores()),
      start_(1, num_states()),
      moves_(dim() - 1, num_states() * num_states()),
      log_by_state_(dim() * num_states(), num_categories()),
      by_state_(dim() * num_states(), num_categories()),
      by_state_high_(dim() * num_states()),
      zeros_(dim()) {
  const std::size_t D = dim(), S = num_categories(), J = num_states();
  const double log_total = potential.log_total();
  for (double& value : log_start_) value -= log_total;
  const auto set_scaled = [](const double* log, std::size_t count, double high, double* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = std::exp(log[i] - high);
  };
  log_scale_ = *std::max_element(log_start_.begin(), log_start_.end());
  set_scaled(log_start_.data(), J, log_scale_, start_.data());
  for (std::size_t d = 0; d + 1 < D; ++d) {
    double high = kLogZero;
    for (std::size_t j = 0; j < J; ++j) high = std::max(high, log_sum(log_moves_.row(d, j), J));
    set_scaled(log_moves_.row(d, 0), J * J, high, moves_.row(d));
    log_scale_ += high;
  }
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t j = 0; j < J; ++j) {
      const std::size_t row = d * J + j;
      double high = kLogZero;
      for (std::size_t s = 0; s < S; ++s) high = std::max(high, log_cores_(d, s, j));
      by_state_high_[row] = high == kLogZero ? 0.0 : high;  // a state without any category
      for (std::size_t s = 0; s < S; ++s) {
        log_by_state_(row, s) = log_cores_(d, s, j) - by_state_high_[row];
      }
      set_scaled(log_by_state_.row(row), S, 0.0, by_state_.row(row));
    }
  }
}

HiddenChain SourceChain::log_chain() const {
  return log_hidden_chain(dim(), num_categories(), num_states(), log_start_.data(),
                          log_moves_.data(), log_cores_.data());
}

double SourceChain::log_probability(const std::int32_t* x) const {
  std::vector<double> scratch(2 * num_states());
  return log_all_paths(log_chain(), x, scratch.data());
}

void SourceChain::log_around(const std::int32_t* x, Matrix<double>& out) const {
  const std::size_t D = dim(), S = num_categories(), J = num_states();
  std::vector<double> others(D * J), scratch(D * J);
  log_other_paths(log_chain(), x, others.data(), scratch.data());
  out = Matrix<double>(D, S);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      out(d, s) = log_sum_of_sums(others.data() + d * J, 1, log_cores_.row(d, s), nullptr, J);
    }
  }
}

Matrix<double> SourceChain::marginals() const {
  TiltedChain chain(std::make_shared<const SourceChain>(*this));
  chain.set(Matrix<double>(dim(), num_categories()));
  Matrix<double> out(dim(), num_categories());
  chain.marginals(out);
  return out;
}

TiltedChain::TiltedChain(std::shared_ptr<const SourceChain> source)
    : source_(std::move(source)),
      log_tilt_(source_->dim(), source_->num_categories()),
      tilt_(source_->dim(), source_->num_categories()),
      log_emission_(source_->dim(), source_->num_states()),
      emission_(source_->dim(), source_->num_states()),
      posteriors_(source_->dim() * source_->num_states()) {}

HiddenChain TiltedChain::chain() const {
  return {source_->dim(),         1,
          source_->num_states(),  source_->log_start_.data(),
          source_->start_.data(), source_->log_moves_.data(),
          source_->moves_.data(), log_emission_.data(),
          emission_.data()};
}

double TiltedChain::set(const Matrix<double>& log_tilt) {
  const std::size_t D = source_->dim(), S = source_->num_categories(), J = source_->num_states();
  double taken_out = 0.0;
  for (std::size_t d = 0; d < D; ++d) {
    const double high = *std::max_element(log_tilt.row(d), log_tilt.row(d) + S);
    taken_out += high;
    for (std::size_t s = 0; s < S; ++s) {
      log_tilt_(d, s) = log_tilt(d, s) - high;
      tilt_(d, s) = std::exp(log_tilt_(d, s));
    }
    for (std::size_t j = 0; j < J; ++j) {
      const std::size_t row = d * J + j;
      log_emission_(d, j) = source_->by_state_high_[row] +
                            log_of_product(source_->by_state_.row(row), tilt_.row(d),
                                           source_->log_by_state_.row(row), log_tilt_.row(d), S);
    }
    const double most = *std::max_element(log_emission_.row(d), log_emission_.row(d) + J);
    for (std::size_t j = 0; j < J; ++j) emission_(d, j) = std::exp(log_emission_(d, j) - most);
  }
  PathPosteriors paths(D, J);
  const double log_total = paths.pass(chain(), source_->zeros_.data(), source_->log_scale_);
  std::copy_n(paths.states(0), D * J, posteriors_.begin());
  return taken_out + log_total;
}

void TiltedChain::marginals(Matrix<double>& out) const {
  const std::size_t S = source_->num_categories(), J = source_->num_states();
  for (std::size_t d = 0; d < source_->dim(); ++d) {
    std::fill_n(out.row(d), S, 0.0);
    for (std::size_t j = 0; j < J; ++j) {
      const double share = posteriors_[d * J + j];
      if (share == 0.0) continue;
      const std::size_t row = d * J + j;
      // The sum over s of the terms, whose logarithm this is, may be small beside their scales.
      const double log_sum_of_terms = log_emission_(d, j) - source_->by_state_high_[row];
      const double sum_of_terms = std::exp(log_sum_of_terms);
      if (sum_of_terms >= kLinearFloor) {
        const double *a = source_->by_state_.row(row), *b = tilt_.row(d);
        for (std::size_t s = 0; s < S; ++s) out(d, s) += share / sum_of_terms * (a[s] * b[s]);
      } else {
        const double* log_a = source_->log_by_state_.row(row);
        for (std::size_t s = 0; s < S; ++s) {
          out(d, s) += share * std::exp(log_a[s] + log_tilt_(d, s) - log_sum_of_terms);
        }
      }
    }
  }
}

void TiltedChain::draw_path(DrawSequence& draws, std::int32_t* path, double* scratch) const {
  const std::size_t D = source_->dim();
  double* const uniforms = scratch + (D + 1) * source_->num_states();
  for (std::size_t d = 0; d < D; ++d) uniforms[d] = draws.uniform();
  bridgemark::draw_path(
      chain(), source_->zeros_.data(), [&](std::size_t d) { return uniforms[d]; }, path, scratch);
}

std::size_t TiltedChain::draw(std::size_t d, std::int32_t state, double uniform) const {
  const std::size_t row = d * source_->num_states() + static_cast<std::size_t>(state);
  return draw_product(source_->by_state_.row(row), tilt_.row(d), source_->log_by_state_.row(row),
                      log_tilt_.row(d), source_->num_categories(), uniform);
}

}  // namespace bridgemark
