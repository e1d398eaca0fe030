#include "bridgemark/bridge/cp_potential.h"

#include <cmath>
#include <limits>
#include <utility>

#include "bridgemark/backend/ops.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

bool is_log_of_nonnegative(double value) {
  return !std::isnan(value) && value != std::numeric_limits<double>::infinity();
}

// True where the component has positive weight and a positive factor in every dimension.
bool is_positive_somewhere(double log_beta, const Array3<double>& log_cores, std::size_t k) {
  if (log_beta == kLogZero) return false;
  for (std::size_t d = 0; d < log_cores.extent(0); ++d) {
    bool positive = false;
    for (std::size_t s = 0; s < log_cores.extent(1); ++s) {
      positive = positive || log_cores(d, s, k) != kLogZero;
    }
    if (!positive) return false;
  }
  return true;
}

}  // namespace

CpPotential::CpPotential(std::vector<double> log_beta, Array3<double> log_cores)
    : log_beta_(std::move(log_beta)), log_cores_(std::move(log_cores)) {
  const std::size_t D = log_cores_.extent(0), S = log_cores_.extent(1), K = log_cores_.extent(2);
  if (D < 1 || S < 2 || K < 1) {
    throw_invalid("potential",
                  "log_cores must have shape [D >= 1, S >= 2, K >= 1], got [{}, {}, {}]", D, S, K);
  }
  if (log_beta_.size() != K) {
    throw_invalid("potential", "log_beta must have {} entries, one for each component, got {}", K,
                  log_beta_.size());
  }
  for (std::size_t k = 0; k < K; ++k) {
    if (!is_log_of_nonnegative(log_beta_[k])) {
      throw_invalid("potential", "log_beta must be finite or -inf, got {} at {}", log_beta_[k], k);
    }
  }
  for (std::size_t i = 0; i < log_cores_.size(); ++i) {
    if (!is_log_of_nonnegative(log_cores_.data()[i])) {
      throw_invalid("potential", "log_cores must be finite or -inf, got {} at [{}, {}, {}]",
                    log_cores_.data()[i], i / K / S, i / K % S, i % K);
    }
  }

  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < K; ++k) {
    if (is_positive_somewhere(log_beta_[k], log_cores_, k)) kept.push_back(k);
  }
  if (kept.empty()) throw_invalid("potential", "the potential must be positive somewhere, got 0");
  if (kept.size() == K) return;
  std::vector<double> kept_beta;
  Array3<double> kept_cores(D, S, kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    kept_beta.push_back(log_beta_[kept[i]]);
    for (std::size_t d = 0; d < D; ++d) {
      for (std::size_t s = 0; s < S; ++s) kept_cores(d, s, i) = log_cores_(d, s, kept[i]);
    }
  }
  log_beta_ = std::move(kept_beta);
  log_cores_ = std::move(kept_cores);
}

void CpPotential::log_value(const Context& context, StatesView x, std::span<double> out) const {
  check_states("x", x, dim(), num_categories());
  backend::log_mixture(context, log_beta_, log_cores_, x, out);
}

}  // namespace bridgemark
