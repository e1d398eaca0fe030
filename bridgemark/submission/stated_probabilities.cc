#include "bridgemark/submission/stated_probabilities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/given_probabilities.h"
#include "bridgemark/metric/likelihood_ratios.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/metric/sample_scores.h"

namespace bridgemark {

namespace {

// Overlap that marginals may miss of their draws beyond noise: a model may know its own only
// nearly.
constexpr double kMarginalSlack = 0.01;

// So do its log-marginals, in nats.
constexpr double kLogMarginalSlack = 0.1;

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
  // One of the N draws of an input moves the mean overlap by at most 1 / (N inputs): McDiarmid's
  // inequality.
  const double draws = static_cast<double>(N * inputs.rows()), miss = estimate_mean(missed).mean;
  if (!(miss > kMarginalSlack + std::sqrt(-std::log(kFalseAlarmRate) / (2.0 * draws)))) return {};
  const double overlap = estimate_mean(found).mean;
  return fmt::format(
      "{} overlaps with the draws of {} by {:.4f}, where its own draws would by {:.4f}",
      kLogMarginalsFile, kConditionalAnswersFile, overlap, overlap + miss);
}

// The test rows and the answers with what the submission and the truth say of them.
struct StatedRows {
  PairedStates test;
  States answers;
  std::vector<double> log_q, log_truth;                  // of the test rows
  std::vector<double> log_q_answers, log_truth_answers;  // of the answers to them
};

StatedRows stated_rows(const Context& context, const Coupling& truth, const BenchmarkPair& pair,
                       const Coupling& answers) {
  StatedRows rows;
  rows.test = pair.test_set(context);
  const std::size_t n = rows.test.x0.rows();
  rows.answers = States(n, pair.dim());
  answers.sample(context, rows.test.x0, {0, DrawPurpose::kPrediction}, 0, rows.answers);
  const auto ask = [&](const Coupling& coupling, const States& x1) {
    std::vector<double> log_q(n);
    coupling.log_conditional(context, rows.test.x0, x1, log_q);
    return log_q;
  };
  rows.log_q = ask(answers, rows.test.x1);
  rows.log_q_answers = ask(answers, rows.answers);
  rows.log_truth = ask(truth, rows.test.x1);
  rows.log_truth_answers = ask(truth, rows.answers);
  return rows;
}

std::string joint_beside_marginals(const Context& context, const BenchmarkPair& pair,
                                   const Coupling& answers, const StatedRows& rows) {
  const States inputs = conditional_inputs(rows.test.x0);
  Array3<double> log_marginals;
  answers.log_marginals(context, inputs, log_marginals);
  for (std::size_t i = 0; i < inputs.rows(); ++i) {
    const std::size_t row = i * kConditionalStride;
    for (std::size_t d = 0; d < pair.dim(); ++d) {
      const auto s = static_cast<std::size_t>(rows.test.x1(row, d));
      const double marginal = log_marginals.row(i, d)[s];
      if (!(rows.log_q[row] > marginal + kLogMarginalSlack)) continue;
      return fmt::format("{} says {} of row {}, but {} only {} of its coordinate {}",
                         kLogConditionalFile, rows.log_q[row], row, kLogMarginalsFile, marginal, d);
    }
  }
  return {};
}

// What was stated of the x1 of one x0, each x1 once.
using StatedOfInput = std::map<std::vector<std::int32_t>, double>;

std::string sums_over_states(const StatedRows& rows) {
  const std::size_t D = rows.answers.cols();
  std::map<std::vector<std::int32_t>, StatedOfInput> stated;
  const auto state = [&](const States& states, std::size_t i) {
    return std::vector<std::int32_t>(states.row(i), states.row(i) + D);
  };
  const auto add = [&](std::size_t i, const States& x1, double log_q) -> std::string {
    StatedOfInput& of_input = stated[state(rows.test.x0, i)];
    const auto [at, is_new] = of_input.emplace(state(x1, i), log_q);
    const double q = std::exp(log_q), before = std::exp(at->second);
    if (is_new || std::abs(q - before) <= kGivenSumTolerance) return {};
    return fmt::format(
        "row {} gives probability {} to an x1 that another row with this x0 gives {}", i, q,
        before);
  };
  for (std::size_t i = 0; i < rows.answers.rows(); ++i) {
    if (std::string line = add(i, rows.test.x1, rows.log_q[i]); !line.empty()) return line;
    if (std::string line = add(i, rows.answers, rows.log_q_answers[i]); !line.empty()) return line;
  }
  double most = 0.0;
  std::size_t states = 0;
  for (const auto& [x0, of_input] : stated) {
    double sum = 0.0;
    for (const auto& [x1, log_q] : of_input) sum += std::exp(log_q);
    if (sum > most) states = of_input.size();
    most = std::max(most, sum);
  }
  if (most <= 1.0 + kGivenSumTolerance) return {};
  return fmt::format("the probabilities of {} different x1 given one x0 sum to {}, above 1", states,
                     most);
}

std::string answers_beside_truth(const StatedRows& rows) {
  std::vector<double> log_ratios;
  for (std::size_t i = 0; i < rows.log_q_answers.size(); ++i) {
    log_ratios.push_back(rows.log_truth_answers[i] - rows.log_q_answers[i]);
  }
  if (!are_no_probabilities(log_ratios)) return {};
  const auto above = std::ranges::count_if(log_ratios, [](double x) { return x > 0.0; });
  return fmt::format(
      "{} is not of the solver that drew {}: {} of {} answers are more probable under the truth, "
      "by chance less often than {}",
      kLogAnswersFile, kAnswersFile, above, log_ratios.size(), kFalseAlarmRate);
}

// The largest difference of the shares of two samples below a threshold.
double kolmogorov_distance(std::vector<double> a, std::vector<double> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  double most = 0.0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double at = std::min(a[i], b[j]);
    while (i < a.size() && a[i] <= at) ++i;
    while (j < b.size() && b[j] <= at) ++j;
    most = std::max(most, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                   static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return most;
}

std::string draws_beside_joint(const StatedRows& rows) {
  double stated = 0.0;
  const std::size_t n = rows.log_q.size();
  for (std::size_t i = 0; i < n; ++i) {
    stated += std::max(0.0, -std::expm1(rows.log_q[i] - rows.log_truth[i]));
  }
  stated /= static_cast<double>(n);
  const double found = kolmogorov_distance(rows.log_truth_answers, rows.log_truth);
  // Two empirical distributions (Dvoretzky, Kiefer, Wolfowitz; Massart's constant) and a mean of
  // values in 0..1 (Hoeffding), a third of the rate each.
  const double third = kFalseAlarmRate / 3.0, twice = 2.0 * static_cast<double>(n);
  const double of_draws = 2.0 * std::sqrt(std::log(2.0 / third) / twice),
               of_stated = std::sqrt(-std::log(third) / twice);
  if (!(found > stated + of_draws + of_stated)) return {};
  return fmt::format(
      "{} is not of the solver that drew {}: it is within a total variation of {:.4f} of the "
      "truth, but the draws are at least {:.4f} away",
      kLogConditionalFile, kAnswersFile, stated + of_stated, found - of_draws);
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
                                               const Coupling& answers) {
  std::vector<std::string> lines;
  if (answers.has_marginals()) lines.push_back(marginals_beside_draws(context, pair, answers));
  const std::shared_ptr<const Coupling> truth = pair.truth(context);
  if (answers.has_joint() && truth && truth->has_joint()) {
    const StatedRows rows = stated_rows(context, *truth, pair, answers);
    if (answers.has_marginals()) {
      lines.push_back(joint_beside_marginals(context, pair, answers, rows));
    }
    lines.push_back(sums_over_states(rows));
    lines.push_back(answers_beside_truth(rows));
    lines.push_back(draws_beside_joint(rows));
  }
  std::erase(lines, std::string());
  return lines;
}

}  // namespace bridgemark
