#include "bridgemark/submission/stated_probabilities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/metric/sample_scores.h"
#include "bridgemark/metric/score_spec.h"

namespace bridgemark {

namespace {

// So many standard errors are no accident (one in 3.5 million).
constexpr double kImpossibleErrors = 5.0;

// Overlap that marginals may miss of their draws beyond noise: a model may know its own only
// nearly.
constexpr double kMarginalSlack = 0.02;

// 1 - TV between the frequencies of n draws and the marginals they were drawn from, expected.
double honest_overlap(MatrixView<const double> log_marginals, std::size_t n) {
  double total = 0.0;
  for (std::size_t d = 0; d < log_marginals.rows; ++d) {
    for (std::size_t s = 0; s < log_marginals.cols; ++s) {
      total += 0.5 * mean_frequency_error(std::exp(log_marginals(d, s)), n);
    }
  }
  return 1.0 - total / static_cast<double>(log_marginals.rows);
}

std::string marginals_beside_draws(const Context& context, const BenchmarkPair& pair,
                                   const Coupling& answers) {
  const States inputs = conditional_inputs(pair.test_set(context).x0);
  const std::size_t D = pair.dim(), S = static_cast<std::size_t>(pair.num_categories()),
                    N = kConditionalSamples;
  Array3<double> log_marginals;
  answers.log_marginals(context, inputs, log_marginals);
  States repeated(N, D), drawn(N, D);
  std::vector<double> found, missed;
  for (std::size_t i = 0; i < inputs.rows(); ++i) {
    for (std::size_t j = 0; j < N; ++j) std::copy_n(inputs.row(i), D, repeated.row(j));
    answers.sample(context, repeated, {0, DrawPurpose::kConditionalPrediction}, i * N, drawn);
    const MatrixView<const double> stated{log_marginals.row(i, 0), D, S};
    found.push_back(shape_against_exact(drawn, stated, context));
    missed.push_back(honest_overlap(stated, N) - found.back());
  }
  const MeanEstimate miss = estimate_mean(missed);
  if (!(miss.mean > kMarginalSlack + kImpossibleErrors * miss.standard_error)) return {};
  const double overlap = estimate_mean(found).mean;
  return fmt::format(
      "{} overlaps with the draws of {} by {:.4f}, where its own draws would by {:.4f}",
      kLogMarginalsFile, kConditionalAnswersFile, overlap, overlap + miss.mean);
}

std::string joint_beside_truth(const Evaluation& evaluation) {
  const double mean = evaluation.mean(kJointKl), error = evaluation.standard_error(kJointKl);
  if (!(mean < -kImpossibleErrors * error)) return {};
  return fmt::format(
      "{} is {} ± {}, but nothing is nearer to the truth than itself: {} does not hold log "
      "q(x1|x0)",
      kJointKl, mean, error, kLogConditionalFile);
}

}  // namespace

double mean_frequency_error(double p, std::size_t n) {
  if (p <= 0.0 || p >= 1.0) return 0.0;
  const double trials = static_cast<double>(n), above = std::floor(trials * p) + 1.0;
  if (above > trials) return mean_frequency_error(1.0 - p, n);  // the same by symmetry
  // 2 m C(n, m) p^m (1-p)^(n-m+1) / n with m the first whole number above n p.
  const double log_choose =
      std::lgamma(trials + 1.0) - std::lgamma(above + 1.0) - std::lgamma(trials - above + 1.0);
  return 2.0 * above / trials *
         std::exp(log_choose + above * std::log(p) + (trials - above + 1.0) * std::log1p(-p));
}

std::vector<std::string> impossible_statements(const Context& context, const BenchmarkPair& pair,
                                               const Coupling& answers,
                                               const Evaluation& evaluation) {
  std::vector<std::string> lines = {joint_beside_truth(evaluation)};
  if (answers.has_marginals()) lines.push_back(marginals_beside_draws(context, pair, answers));
  std::erase(lines, std::string());
  return lines;
}

}  // namespace bridgemark
