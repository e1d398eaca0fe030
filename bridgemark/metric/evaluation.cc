#include "bridgemark/metric/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/c2st.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/sample_scores.h"
#include "bridgemark/metric/trajectory_kl.h"

namespace bridgemark {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// A value with the error it has within one repetition (NaN where that is not known).
struct Value {
  double value = kMissing;
  double standard_error = kMissing;
};

using Values = std::vector<std::pair<std::string, Value>>;

States concatenate(StatesView left, StatesView right) {
  States joined(left.rows, left.cols + right.cols);
  for (std::size_t i = 0; i < left.rows; ++i) {
    std::copy_n(left.row(i), left.cols, joined.row(i));
    std::copy_n(right.row(i), right.cols, joined.row(i) + left.cols);
  }
  return joined;
}

class Protocol {
 public:
  Protocol(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
           const EvaluationOptions& options)
      : context_(context),
        pair_(pair),
        coupling_(coupling),
        options_(options),
        num_steps_(coupling.own_num_steps() > 0 ? coupling.own_num_steps() : options.num_steps),
        truth_(pair.truth(context)),
        test_(pair.test_set(context)),
        inputs_(conditional_inputs(test_.x0)) {}

  int num_steps() const { return num_steps_; }

  Values run(std::uint64_t seed) const {
    Values values;
    score_answers(seed, values);
    score_conditionals(seed, values);
    score_trajectories(seed, values);
    score_joint(values);
    return values;
  }

 private:
  void score_answers(std::uint64_t seed, Values& values) const {
    States answers(test_.x0.rows(), pair_.dim());
    coupling_.sample(context_, test_.x0, {seed, DrawPurpose::kPrediction}, 0, answers);
    const SampleScores scores = score_samples(context_, test_.x1, answers, pair_.num_categories());
    values.push_back({"shape_score", {scores.shape}});
    values.push_back({"trend_score", {scores.trend}});
    values.push_back({"trend_offdiagonal", {scores.trend_offdiagonal}});
    values.push_back(
        {"mean_marginal_entropy", {mean_marginal_entropy(answers, pair_.num_categories())}});
    Value perplexity;
    if (truth_) {
      std::vector<double> log_q(answers.rows());
      truth_->log_conditional(context_, test_.x0, answers, log_q);
      const double mean = estimate_mean(log_q).mean;
      perplexity.value = std::exp(-mean / static_cast<double>(pair_.dim()));
    }
    values.push_back({"sb_perplexity", perplexity});
    if (!options_.c2st) return;
    C2stOptions classifier;
    classifier.seed = seed;
    const C2stResult result =
        c2st(context_, concatenate(test_.x0, test_.x1), concatenate(test_.x0, answers),
             pair_.num_categories(), classifier);
    values.push_back({"c2st_auc", {result.auc, result.auc_standard_error}});
    values.push_back({"c2st_score", {result.score}});
  }

  void score_conditionals(std::uint64_t seed, Values& values) const {
    Value shape, trend, offdiagonal, exact;
    if (truth_) {
      const std::size_t D = pair_.dim(), S = static_cast<std::size_t>(pair_.num_categories());
      const bool own_marginals = coupling_.has_marginals();
      Array3<double> log_truth, log_own;
      truth_->log_marginals(context_, inputs_, log_truth);
      if (own_marginals) coupling_.log_marginals(context_, inputs_, log_own);
      std::vector<double> shapes, trends, offdiagonals, exacts;
      States x0(kConditionalSamples, D), drawn(kConditionalSamples, D),
          answers(kConditionalSamples, D);
      for (std::size_t i = 0; i < inputs_.rows(); ++i) {
        for (std::size_t j = 0; j < kConditionalSamples; ++j) {
          std::copy_n(inputs_.row(i), D, x0.row(j));
        }
        const std::uint64_t first = i * kConditionalSamples;
        truth_->sample(context_, x0, {seed, DrawPurpose::kTruthSample}, first, drawn);
        coupling_.sample(context_, x0, {seed, DrawPurpose::kConditionalPrediction}, first, answers);
        const SampleScores scores = score_samples(context_, drawn, answers, pair_.num_categories());
        shapes.push_back(scores.shape);
        trends.push_back(scores.trend);
        offdiagonals.push_back(scores.trend_offdiagonal);
        const MatrixView<const double> marginals{log_truth.row(i, 0), D, S};
        exacts.push_back(own_marginals
                             ? shape_between_marginals(marginals, {log_own.row(i, 0), D, S})
                             : shape_against_exact(answers, marginals));
        context_.report("conditional scores", i + 1, inputs_.rows());
      }
      shape.value = estimate_mean(shapes).mean;
      trend.value = estimate_mean(trends).mean;
      offdiagonal.value = estimate_mean(offdiagonals).mean;
      exact.value = estimate_mean(exacts).mean;
    }
    values.push_back({"conditional_shape_score", shape});
    values.push_back({"conditional_trend_score", trend});
    values.push_back({"conditional_trend_offdiagonal", offdiagonal});
    values.push_back({"exact_conditional_shape_score", exact});
  }

  void score_trajectories(std::uint64_t seed, Values& values) const {
    Value forward, reverse;
    const int steps = num_steps_;
    if (truth_ && truth_->has_transitions(steps) && coupling_.has_transitions(steps)) {
      const std::size_t rows = std::min(options_.num_trajectories, test_.x0.rows());
      const StatesView x0 = test_.x0.view().slice(0, rows);
      const MeanEstimate from_truth =
          trajectory_kl(context_, *truth_, coupling_, steps, x0, derive_seed(seed, 0));
      const MeanEstimate from_coupling =
          trajectory_kl(context_, coupling_, *truth_, steps, x0, derive_seed(seed, 1));
      forward = {from_truth.mean, from_truth.standard_error};
      reverse = {from_coupling.mean, from_coupling.standard_error};
    }
    values.push_back({"forward_trajectory_kl", forward});
    values.push_back({"reverse_trajectory_kl", reverse});
  }

  void score_joint(Values& values) const {
    Value joint;
    if (truth_ && coupling_.has_joint()) {
      std::vector<double> log_truth(test_.x0.rows()), log_own(test_.x0.rows());
      truth_->log_conditional(context_, test_.x0, test_.x1, log_truth);
      coupling_.log_conditional(context_, test_.x0, test_.x1, log_own);
      for (std::size_t i = 0; i < log_truth.size(); ++i) log_truth[i] -= log_own[i];
      const MeanEstimate estimate = estimate_mean(log_truth);
      joint = {estimate.mean, estimate.standard_error};
    }
    values.push_back({"joint_kl", joint});
  }

  const Context& context_;
  const BenchmarkPair& pair_;
  const Coupling& coupling_;
  const EvaluationOptions& options_;
  int num_steps_;
  std::shared_ptr<const Coupling> truth_;
  PairedStates test_;
  States inputs_;
};

void check_request(const BenchmarkPair& pair, const Coupling& coupling,
                   const EvaluationOptions& options) {
  if (coupling.dim() != pair.dim() || coupling.num_categories() != pair.num_categories()) {
    throw_invalid(
        "evaluate", "the coupling must live on {{0..{}}}^{} like the pair, got {{0..{}}}^{}",
        pair.num_categories() - 1, pair.dim(), coupling.num_categories() - 1, coupling.dim());
  }
  if (options.num_seeds < 1) {
    throw_invalid("evaluate", "num_seeds must be at least 1, got {}", options.num_seeds);
  }
  const int total = pair.bridge().process().total_steps();
  if (options.num_steps < 1 || total % options.num_steps != 0) {
    throw_invalid("evaluate", "num_steps must be a positive divisor of {}, got {}", total,
                  options.num_steps);
  }
  if (options.num_trajectories < 1) {
    throw_invalid("evaluate", "num_trajectories must be at least 1, got 0");
  }
}

const Score* find(const std::vector<Score>& scores, std::string_view name) {
  const auto found = std::find_if(scores.begin(), scores.end(),
                                  [&](const Score& score) { return score.name == name; });
  return found == scores.end() ? nullptr : &*found;
}

}  // namespace

double Evaluation::mean(std::string_view name) const {
  const Score* score = find(scores, name);
  return score ? score->mean : kMissing;
}

double Evaluation::standard_error(std::string_view name) const {
  const Score* score = find(scores, name);
  return score ? score->standard_error : kMissing;
}

Evaluation evaluate(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
                    const EvaluationOptions& options) {
  check_request(pair, coupling, options);
  const Protocol protocol(context, pair, coupling, options);
  Evaluation evaluation;
  evaluation.num_steps = protocol.num_steps();
  for (int repetition = 0; repetition < options.num_seeds; ++repetition) {
    const Values values = protocol.run(options.seed + static_cast<std::uint64_t>(repetition));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto& [name, value] = values[i];
      if (repetition == 0) evaluation.scores.push_back({name, 0.0, value.standard_error, {}});
      evaluation.scores[i].values.push_back(value.value);
    }
  }
  for (Score& score : evaluation.scores) {
    const MeanEstimate over_seeds = estimate_mean(score.values);
    score.mean = over_seeds.mean;
    // The joint KL is the same in each repetition: its error is that of the test set.
    if (options.num_seeds > 1 && score.name != "joint_kl") {
      score.standard_error = over_seeds.standard_error;
    }
  }
  return evaluation;
}

}  // namespace bridgemark
