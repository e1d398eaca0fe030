#include "bridgemark/pair/two_sided.h"

#include <algorithm>
#include <cmath>

#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

constexpr int kMostRounds = 100000;
constexpr double kEnough = 1e-9;  // largest error of a share's logarithm

// [J,K]: log of sum over x0, x1 of component j of f, the reference, component k of v, without
// their weights.
Matrix<double> log_meetings(const CpPotential& source, const CpBridge& bridge) {
  const CpPotential seen = bridge.normalizer({});
  const std::size_t J = source.num_components(), K = seen.num_components();
  const std::vector<double> log_totals = product(source, seen).log_component_totals();
  Matrix<double> log_meetings(J, K);
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t k = 0; k < K; ++k) {
      log_meetings(j, k) = log_totals[j * K + k] - source.log_beta()[j] - seen.log_beta()[k];
    }
  }
  return log_meetings;
}

double rounded(double value) { return std::round(value * 0x1p20) * 0x1p-20; }

}  // namespace

BalancedWeights balance_weights(const CpPotential& source, const CpBridge& bridge,
                                const Context& context) {
  const Matrix<double> log_weights = log_meetings(source, bridge);
  const std::size_t J = log_weights.rows(), K = log_weights.cols();
  const double even_source = -std::log(static_cast<double>(J)),
               even_target = -std::log(static_cast<double>(K));
  std::vector<double> log_source(J, even_source), log_target(K, even_target);
  std::vector<double> terms(std::max(J, K));
  for (int round = 0; round < kMostRounds; ++round) {
    double error = 0.0;
    for (std::size_t j = 0; j < J; ++j) {
      context.throw_if_interrupted();
      for (std::size_t k = 0; k < K; ++k) terms[k] = log_target[k] + log_weights(j, k);
      const double next = even_source - log_sum(terms.data(), K);
      error = std::max(error, std::abs(next - log_source[j]));
      log_source[j] = next;
    }
    for (std::size_t k = 0; k < K; ++k) {
      context.throw_if_interrupted();
      for (std::size_t j = 0; j < J; ++j) terms[j] = log_source[j] + log_weights(j, k);
      log_target[k] = even_target - log_sum(terms.data(), J);
    }
    if (error < kEnough) break;
  }
  // A constant may pass from one side to the other: the largest weight of v is 1.
  const double shift = *std::max_element(log_target.begin(), log_target.end());
  for (double& value : log_source) value = rounded(value + shift);
  for (double& value : log_target) value = rounded(value - shift);
  return {std::move(log_source), std::move(log_target)};
}

}  // namespace bridgemark
