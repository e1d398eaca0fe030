#include "bridgemark/bridge/cp_potential.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/bridge/potential_checks.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

// Components that have positive weight and a positive factor in every dimension.
std::vector<std::size_t> positive_components(const std::vector<double>& log_beta,
                                             const Array3<double>& log_cores) {
  const std::size_t K = log_beta.size();
  std::vector<char> positive(K), in_dimension(K);
  for (std::size_t k = 0; k < K; ++k) positive[k] = log_beta[k] != kLogZero;
  for (std::size_t d = 0; d < log_cores.extent(0); ++d) {
    std::fill(in_dimension.begin(), in_dimension.end(), char{0});
    for (std::size_t s = 0; s < log_cores.extent(1); ++s) {
      const double* log_factor = log_cores.row(d, s);
      for (std::size_t k = 0; k < K; ++k) {
        if (log_factor[k] != kLogZero) in_dimension[k] = 1;
      }
    }
    for (std::size_t k = 0; k < K; ++k) {
      if (!in_dimension[k]) positive[k] = 0;
    }
  }
  std::vector<std::size_t> components;
  for (std::size_t k = 0; k < K; ++k) {
    if (positive[k]) components.push_back(k);
  }
  return components;
}

}  // namespace

CpPotential::CpPotential(std::vector<double> log_beta, Array3<double> log_cores)
    : log_beta_(std::move(log_beta)), log_cores_(std::move(log_cores)) {
  const std::size_t D = log_cores_.extent(0), S = log_cores_.extent(1), K = log_cores_.extent(2);
  check_potential_shape("log_beta", log_beta_.size(), log_cores_);
  check_logarithms("log_beta", log_beta_);
  check_logarithms("log_cores", log_cores_);

  const std::vector<std::size_t> kept = positive_components(log_beta_, log_cores_);
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
  backend::of(context).log_mixture(context, log_beta_, log_cores_, x, out);
}

std::vector<double> CpPotential::log_component_totals() const {
  const std::size_t S = log_cores_.extent(1), K = num_components();
  std::vector<double> log_totals = log_beta_;
  for (std::size_t d = 0; d < dim(); ++d) {
    for (std::size_t k = 0; k < K; ++k) log_totals[k] += log_sum(log_cores_.row(d, 0) + k, S, K);
  }
  return log_totals;
}

double CpPotential::log_total() const {
  const std::vector<double> log_totals = log_component_totals();
  return log_sum(log_totals.data(), log_totals.size());
}

CpPotential product(const CpPotential& a, const CpPotential& b) {
  if (a.dim() != b.dim() || a.num_categories() != b.num_categories()) {
    throw_invalid("potential", "both factors must live on one space, got {}^{} and {}^{}",
                  a.num_categories(), a.dim(), b.num_categories(), b.dim());
  }
  const std::size_t D = a.dim(), S = a.log_cores().extent(1), J = a.num_components(),
                    K = b.num_components();
  if (J > kMaxProductEntries / (D * S) / K) {
    throw_invalid("potential",
                  "a product of potentials may have at most {} components on {}^{}, got {} x {}",
                  kMaxProductEntries / (D * S), S, D, J, K);
  }
  std::vector<double> log_beta(J * K);
  Array3<double> log_cores(D, S, J * K);
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t k = 0; k < K; ++k) {
      log_beta[j * K + k] = a.log_beta()[j] + b.log_beta()[k];
      for (std::size_t d = 0; d < D; ++d) {
        for (std::size_t s = 0; s < S; ++s) {
          log_cores(d, s, j * K + k) = a.log_cores()(d, s, j) + b.log_cores()(d, s, k);
        }
      }
    }
  }
  return {std::move(log_beta), std::move(log_cores)};
}

CpPotential point_potential(StatesView states, int num_categories,
                            std::vector<double> log_weights) {
  check_states("states", states, states.cols, num_categories);
  Array3<double> log_cores(states.cols, static_cast<std::size_t>(num_categories), states.rows,
                           kLogZero);
  for (std::size_t i = 0; i < states.rows; ++i) {
    for (std::size_t d = 0; d < states.cols; ++d) {
      log_cores(d, static_cast<std::size_t>(states(i, d)), i) = 0.0;
    }
  }
  return {std::move(log_weights), std::move(log_cores)};
}

Array3<double> scaled_cores(Array3<double> log_cores, std::span<const double> log_factors) {
  for (std::size_t d = 0; d < log_cores.extent(0); ++d) {
    for (std::size_t s = 0; s < log_cores.extent(1); ++s) {
      for (std::size_t k = 0; k < log_cores.extent(2); ++k) log_cores(d, s, k) += log_factors[s];
    }
  }
  return log_cores;
}

CpPotential scaled(const CpPotential& potential, std::span<const double> log_factors) {
  return {potential.log_beta(), scaled_cores(potential.log_cores(), log_factors)};
}

}  // namespace bridgemark
