#include "bridgemark/bridge/chain_potential.h"

#include <algorithm>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/bridge/potential_checks.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

// The weight of all paths with each core at its largest category: 0 only where v is 0 everywhere.
double log_largest(std::span<const double> log_start, const Array3<double>& log_moves,
                   const Array3<double>& log_cores) {
  const std::size_t D = log_cores.extent(0), S = log_cores.extent(1), K = log_start.size();
  std::vector<double> weights(log_start.begin(), log_start.end()), next(K), terms(K);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t k = 0; k < K; ++k) {
      if (d == 0) {
        next[k] = weights[k];
      } else {
        for (std::size_t from = 0; from < K; ++from) {
          terms[from] = weights[from] + log_moves(d - 1, from, k);
        }
        next[k] = log_sum(terms.data(), K);
      }
      double high = kLogZero;
      for (std::size_t s = 0; s < S; ++s) high = std::max(high, log_cores(d, s, k));
      next[k] += high;
    }
    std::swap(weights, next);
  }
  return log_sum(weights.data(), K);
}

}  // namespace

ChainPotential::ChainPotential(std::vector<double> log_start, Array3<double> log_moves,
                               Array3<double> log_cores)
    : log_start_(std::move(log_start)),
      log_moves_(std::move(log_moves)),
      log_cores_(std::move(log_cores)) {
  const std::size_t D = log_cores_.extent(0), K = log_cores_.extent(2);
  check_potential_shape("log_start", log_start_.size(), log_cores_);
  if (log_moves_.extent(0) != D - 1 ||
      (D > 1 && (log_moves_.extent(1) != K || log_moves_.extent(2) != K))) {
    throw_invalid("potential", "log_moves must have shape [{}, {}, {}], got [{}, {}, {}]", D - 1, K,
                  K, log_moves_.extent(0), log_moves_.extent(1), log_moves_.extent(2));
  }
  check_logarithms("log_start", log_start_);
  check_logarithms("log_moves", log_moves_);
  check_logarithms("log_cores", log_cores_);
  if (log_largest(log_start_, log_moves_, log_cores_) == kLogZero) {
    throw_invalid("potential", "the potential must be positive somewhere, got 0");
  }
}

void ChainPotential::log_value(const Context& context, StatesView x, std::span<double> out) const {
  check_states("x", x, dim(), num_categories());
  backend::of(context).log_chain(context, log_start_, log_moves_, log_cores_, x, out);
}

double ChainPotential::log_total() const {
  const std::size_t D = dim(), S = log_cores_.extent(1), K = num_components();
  std::vector<double> emission(D * K), scratch(2 * K);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t k = 0; k < K; ++k) {
      emission[d * K + k] = log_sum(log_cores_.row(d, 0) + k, S, K);
    }
  }
  const std::vector<std::int32_t> zeros(D);
  return log_all_paths(
      log_hidden_chain(D, 1, K, log_start_.data(), log_moves_.data(), emission.data()),
      zeros.data(), scratch.data());
}

Array3<double> switching_moves(std::size_t dim, std::size_t num_components, double switch_rate) {
  const std::size_t K = num_components;
  if (!(switch_rate >= 0.0 && switch_rate <= 1.0)) {
    throw_invalid("potential", "switch_rate must lie in [0, 1], got {}", switch_rate);
  }
  if (K == 1 && switch_rate > 0.0) {
    throw_invalid("potential", "switch_rate must be 0 for one component, got {}", switch_rate);
  }
  const double stay = switch_rate < 1.0 ? portable_log(1.0 - switch_rate) : kLogZero;
  const double leave =
      switch_rate > 0.0 ? portable_log(switch_rate / static_cast<double>(K - 1)) : kLogZero;
  Array3<double> log_moves(dim - 1, K, K, leave);
  for (std::size_t d = 0; d + 1 < dim; ++d) {
    for (std::size_t k = 0; k < K; ++k) log_moves(d, k, k) = stay;
  }
  return log_moves;
}

}  // namespace bridgemark
