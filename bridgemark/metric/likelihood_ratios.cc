#include "bridgemark/metric/likelihood_ratios.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/score_spec.h"

namespace bridgemark {

namespace {

// λ = 1, 1/2, 1/4, ...: the largest finds small overstatements of all rows, small ones those of few
// rows among many that are understated.
constexpr int kWagers = 14;

// log(1 + λ (e^x - 1)).
double log_wager(double lambda, double x) {
  if (x > 30.0) return x + std::log(lambda + (1.0 - lambda) * std::exp(-x));
  return lambda == 1.0 ? x : std::log1p(lambda * std::expm1(x));
}

}  // namespace

double log_evidence_against(std::span<const double> log_ratios) {
  std::vector<double> of_wagers;
  for (int i = 0; i < kWagers; ++i) {
    const double lambda = std::ldexp(1.0, -i);
    double sum = 0.0;
    for (const double x : log_ratios) sum += log_wager(lambda, x);
    of_wagers.push_back(sum - std::log(static_cast<double>(kWagers)));
  }
  return log_sum(of_wagers.data(), of_wagers.size());
}

bool are_no_probabilities(std::span<const double> log_ratios) {
  return log_evidence_against(log_ratios) > -std::log(kFalseAlarmRate);
}

void refuse_impossible_joint(std::span<const double> kl_rows) {
  std::vector<double> log_ratios(kl_rows.begin(), kl_rows.end());
  for (double& value : log_ratios) value = -value;
  if (!are_no_probabilities(log_ratios)) return;
  const MeanEstimate kl = estimate_mean(kl_rows);
  const auto above = std::ranges::count_if(log_ratios, [](double x) { return x > 0.0; });
  throw_invalid("evaluate",
                "log-probabilities must sum to 1 over x1 and not know the test rows: {} is {} ± {} "
                "with {} of {} rows more probable than they are, by chance less often than {}",
                kJointKl, kl.mean, kl.standard_error, above, kl_rows.size(), kFalseAlarmRate);
}

}  // namespace bridgemark
