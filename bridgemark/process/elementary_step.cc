#include "bridgemark/process/elementary_step.h"

#include <cmath>
#include <cstddef>

namespace bridgemark {

UniformPower uniform_power(int num_categories, double gamma, int n) {
  const double S = num_categories;
  const double shrink = gamma * S / (S - 1.0);
  const double log_abs = shrink < 1.0 ? std::log1p(-shrink) : std::log1p(shrink - 2.0);
  const double log_identity = n * log_abs;
  if (shrink < 1.0 || n % 2 == 0) {
    const double identity = std::exp(log_identity);
    const double off_diagonal = -std::expm1(log_identity) / S;
    return {identity, off_diagonal, n == 1 ? 1.0 - gamma : identity + off_diagonal};
  }
  const double identity = -std::exp(log_identity);
  // Of one step the difference of two numbers near 1 would lose a tiny 1 - gamma; of three and more
  // steps it is not small.
  return {identity, (1.0 - identity) / S,
          n == 1 ? 1.0 - gamma : -std::expm1(std::log(S - 1.0) + log_identity) / S};
}

Matrix<double> log_uniform_power(int num_categories, double gamma, int n) {
  const auto S = static_cast<std::size_t>(num_categories);
  const UniformPower power = uniform_power(num_categories, gamma, n);
  Matrix<double> log(S, S, std::log(power.off_diagonal));
  for (std::size_t s = 0; s < S; ++s) log(s, s) = std::log(power.diagonal);
  return log;
}

Matrix<double> log_gaussian_step(int num_categories, double gamma) {
  const auto S = static_cast<std::size_t>(num_categories);
  const double width = gamma * (num_categories - 1.0);
  const auto log_weight = [&](double delta) { return -4.0 * delta * delta / (width * width); };
  double normaliser = 1.0;
  for (int delta = num_categories - 1; delta >= 1; --delta) {
    normaliser += 2.0 * std::exp(log_weight(delta));
  }
  const double log_normaliser = std::log(normaliser);
  Matrix<double> log(S, S);
  for (std::size_t x = 0; x < S; ++x) {
    double moved = 0.0;
    for (std::size_t y = 0; y < S; ++y) {
      if (y == x) continue;
      log(x, y) = log_weight(static_cast<double>(y) - static_cast<double>(x)) - log_normaliser;
      moved += std::exp(log(x, y));
    }
    log(x, x) = std::log1p(-moved);
  }
  return log;
}

}  // namespace bridgemark
