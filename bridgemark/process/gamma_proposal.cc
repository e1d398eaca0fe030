#include "bridgemark/process/gamma_proposal.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "bridgemark/core/error.h"

namespace bridgemark {

namespace {

// Beyond so many categories the share is a function of gamma alone: 0.415 at S = 100 and 0.417 at
// S = 256 for gamma 0.05. A larger matrix would only take longer.
constexpr int kEnoughCategories = 256;

double two_digits(double value) {
  // Divided by a whole number, so that it is the double that prints with these digits.
  const double scale = std::pow(10.0, 1.0 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

}  // namespace

double movement_share(const Context& context, const ReferenceProcess& process) {
  const SharedMatrix log_q = process.log_power(context, process.total_steps());
  const int S = process.num_categories();
  double sum = 0.0;
  for (int x = 0; x < S; ++x) {
    for (int y = 0; y < S; ++y) {
      sum += std::exp(log_q(static_cast<std::size_t>(x), static_cast<std::size_t>(y))) *
             std::abs(x - y);
    }
  }
  return sum / S / ((static_cast<double>(S) * S - 1.0) / (3.0 * S));
}

double movement_share(const Context& context, ReferenceKind kind, int num_categories, double gamma,
                      int total_steps) {
  const int S = std::min(num_categories, kEnoughCategories);
  return movement_share(context, ReferenceProcess::of_gamma(kind, S, gamma, total_steps));
}

double gamma_of_share(const Context& context, ReferenceKind kind, int num_categories, double share,
                      int total_steps) {
  if (kind != ReferenceKind::kGaussian && kind != ReferenceKind::kUniform) {
    throw_invalid("reference", "a gamma is proposed for gaussian or uniform, got {}",
                  reference_kind_name(kind));
  }
  // The share grows with gamma: halving the logarithm finds it.
  double low = std::log(1e-7), high = std::log(kind == ReferenceKind::kUniform ? 0.5 : 4.0);
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (low + high);
    const bool enough =
        movement_share(context, kind, num_categories, std::exp(middle), total_steps) >= share;
    (enough ? high : low) = middle;
  }
  return two_digits(std::exp(high));
}

double propose_gamma(const Context& context, ReferenceKind kind, int num_categories,
                     int total_steps) {
  return gamma_of_share(context, kind, num_categories, kProposedShare, total_steps);
}

}  // namespace bridgemark
