#include "bridgemark/metric/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "bridgemark/backend/placed_array.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/metric/answers_digest.h"
#include "bridgemark/metric/c2st.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/joint_kl.h"
#include "bridgemark/metric/likelihood_ratios.h"
#include "bridgemark/metric/sample_blocks.h"
#include "bridgemark/metric/sample_scores.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/metric/trajectory_kl.h"

namespace bridgemark {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// What one repetition says of a score.
struct Value {
  double value = kMissing;
  double standard_error = kMissing;  // within the repetition; NaN where it is not known
  bool drawn_anew = true;            // another repetition draws something that decides the value
  std::string missing = {};          // why there is no value
  BlockMeans blocks = {};            // of a score that is a mean over test inputs
  std::optional<double> bound_change = {};  // of a score that is an upper bound
};

Value missing(std::string reason) { return {.missing = std::move(reason)}; }

// A score that is the mean of one value for each test input.
Value mean_over_inputs(const std::vector<double>& values, bool drawn_anew = true) {
  return {
      .value = estimate_mean(values).mean, .drawn_anew = drawn_anew, .blocks = block_means(values)};
}

// The same where the inputs are so many that the error within one repetition is of use.
Value mean_with_error(const std::vector<double>& values, bool drawn_anew = true) {
  Value value = mean_over_inputs(values, drawn_anew);
  value.standard_error = estimate_mean(values).standard_error;
  return value;
}

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
        num_steps_(trajectory_steps(coupling, options.num_steps)),
        truth_(pair.truth(context)),
        on_device_(context.device != Device::kCpu && coupling.takes_device_memory() &&
                   (!truth_ || truth_->takes_device_memory())),
        test_(pair.test_set(context)),
        test_x0_(context, on_device_, test_.x0),
        test_x1_(context, on_device_, test_.x1),
        inputs_(conditional_inputs(test_.x0)) {
    if (truth_ && truth_->has_marginals()) {
      truth_->log_marginals(context, inputs_, log_truth_);
    }
  }

  int num_steps() const { return num_steps_; }
  JointKlDetail joint_kl_detail() const { return joint_kl_ ? joint_kl_->detail : JointKlDetail{}; }

  Values run(std::uint64_t seed) const {
    Values values;
    score_answers(seed, values);
    score_conditionals(seed, values);
    score_marginals(values);
    score_trajectories(seed, values);
    score_joint(values);
    return values;
  }

 private:
  void score_answers(std::uint64_t seed, Values& values) const {
    const bool anew = coupling_.draws_anew();
    backend::PlacedStates answers = make_states(test_.x0.rows());
    coupling_.sample(context_, test_x0_.view(), {seed, DrawPurpose::kPrediction}, 0,
                     answers.view());
    const StatesView given = std::as_const(answers).view();
    const SampleScores scores =
        score_samples(context_, test_x1_.view(), given, pair_.num_categories());
    SampleBlocks blocks = sample_blocks(context_, test_x1_.view(), given, pair_.num_categories());
    values.push_back({kShapeScore, {scores.shape, kMissing, anew, {}, std::move(blocks.shape)}});
    values.push_back({kTrendScore, {scores.trend, kMissing, anew, {}, std::move(blocks.trend)}});
    values.push_back(
        {kTrendOffdiagonal,
         offdiagonal(
             {scores.trend_offdiagonal, kMissing, anew, {}, std::move(blocks.trend_offdiagonal)})});
    values.push_back(
        {kMeanMarginalEntropy,
         {mean_marginal_entropy(given, pair_.num_categories(), context_), kMissing, anew}});
    values.push_back({kSbPerplexity, perplexity(given)});
    if (!options_.c2st) return;
    C2stOptions classifier;
    classifier.seed = seed;
    const C2stResult result =
        c2st(context_, concatenate(test_.x0, test_.x1),
             concatenate(test_.x0, answers.to_host(context_)), pair_.num_categories(), classifier);
    values.push_back({kC2stAuc, {result.auc, result.auc_standard_error}});
    // 1 - 2 |AUC - 1/2| moves twice as far as the AUC.
    values.push_back({kC2stScore, {result.score, 2.0 * result.auc_standard_error}});
  }

  Value perplexity(StatesView answers) const {
    if (!truth_) return missing(no_truth());
    if (!truth_->has_joint()) return missing("the truth gives no joint log-probability");
    const double mean = estimate_mean(log_conditional_of(*truth_, answers)).mean;
    return {std::exp(-mean / static_cast<double>(pair_.dim())), kMissing, coupling_.draws_anew()};
  }

  backend::PlacedStates make_states(std::size_t rows) const {
    return {context_, on_device_, rows, pair_.dim()};
  }

  // log q(x1 | x0) for the test's x0.
  std::vector<double> log_conditional_of(const Coupling& coupling, StatesView x1) const {
    backend::PlacedArray<double> log_q(context_, on_device_, x1.rows);
    coupling.log_conditional(context_, test_x0_.view(), x1, log_q.values());
    const Matrix<double> values = std::move(log_q).to_host(context_);
    return {values.data(), values.data() + values.size()};
  }

  // Kept answers are compared with draws that nobody could know before they were made.
  std::uint64_t truth_seed(std::uint64_t seed) const {
    if (coupling_.draws_anew()) return seed;
    if (!kept_digest_) {
      kept_digest_ =
          answers_digest(context_, coupling_, test_.x0, inputs_, options_.conditional_samples);
    }
    return derive_seed(seed, *kept_digest_);
  }

  void score_conditionals(std::uint64_t seed, Values& values) const {
    Value shape = missing(no_truth()), trend = shape, trend_offdiagonal = shape,
          sampled = missing(no_marginals());
    if (truth_) {
      const std::size_t D = pair_.dim(), S = static_cast<std::size_t>(pair_.num_categories()),
                        N = options_.conditional_samples;
      const std::uint64_t of_truth = truth_seed(seed);
      std::vector<double> shapes, trends, offdiagonals, against_exact;
      States repeated(N, D);
      backend::PlacedStates x0 = make_states(N), drawn = make_states(N), answers = make_states(N);
      for (std::size_t i = 0; i < inputs_.rows(); ++i) {
        for (std::size_t j = 0; j < N; ++j) std::copy_n(inputs_.row(i), D, repeated.row(j));
        x0.set(context_, repeated);
        const std::uint64_t first = i * N;
        truth_->sample(context_, x0.view(), {of_truth, DrawPurpose::kTruthSample}, first,
                       drawn.view());
        coupling_.sample(context_, x0.view(), {seed, DrawPurpose::kConditionalPrediction}, first,
                         answers.view());
        const SampleScores scores =
            score_samples(context_, drawn.view(), answers.view(), pair_.num_categories());
        shapes.push_back(scores.shape);
        trends.push_back(scores.trend);
        offdiagonals.push_back(scores.trend_offdiagonal);
        if (truth_->has_marginals()) {
          against_exact.push_back(
              shape_against_exact(answers.view(), {log_truth_.row(i, 0), D, S}, context_));
        }
        context_.report("conditional scores", i + 1, inputs_.rows());
      }
      shape = mean_over_inputs(shapes);
      trend = mean_over_inputs(trends);
      trend_offdiagonal = offdiagonal(mean_over_inputs(offdiagonals));
      if (truth_->has_marginals()) {
        sampled = mean_over_inputs(against_exact, coupling_.draws_anew());
      }
    }
    values.push_back({kConditionalShape, shape});
    values.push_back({kConditionalTrend, trend});
    values.push_back({kConditionalTrendOffdiagonal, trend_offdiagonal});
    values.push_back({kSampledConditionalShape, sampled});
  }

  void score_marginals(Values& values) const {
    Value exact = missing(no_marginals());
    if (truth_ && truth_->has_marginals() && !coupling_.has_marginals()) {
      exact = missing(coupling_.why_missing(Ability::kMarginals, num_steps_));
    } else if (truth_ && truth_->has_marginals()) {
      const std::size_t D = pair_.dim(), S = static_cast<std::size_t>(pair_.num_categories());
      Array3<double> log_own;
      coupling_.log_marginals(context_, inputs_, log_own);
      std::vector<double> shapes;
      for (std::size_t i = 0; i < inputs_.rows(); ++i) {
        shapes.push_back(
            shape_between_marginals({log_truth_.row(i, 0), D, S}, {log_own.row(i, 0), D, S}));
      }
      exact = mean_over_inputs(shapes, false);
    }
    values.push_back({kExactConditionalShape, exact});
  }

  void score_trajectories(std::uint64_t seed, Values& values) const {
    const int steps = num_steps_;
    Value forward, reverse;
    if (!truth_) {
      forward = missing(no_truth());
    } else if (!truth_->has_transitions(steps)) {
      forward =
          missing(fmt::format("the truth has no closed-form transitions with {} steps", steps));
    } else if (!coupling_.has_transitions(steps)) {
      forward = missing(coupling_.why_missing(Ability::kTransitions, steps));
    }
    reverse = forward;
    if (forward.missing.empty()) {
      const std::size_t rows = std::min(options_.num_trajectories, test_.x0.rows());
      const StatesView x0 = test_x0_.view().slice(0, rows);
      forward = mean_with_error(
          trajectory_kls(context_, *truth_, coupling_, steps, x0, derive_seed(seed, 0)));
      reverse = mean_with_error(
          trajectory_kls(context_, coupling_, *truth_, steps, x0, derive_seed(seed, 1)));
    }
    values.push_back({kForwardTrajectoryKl, forward});
    values.push_back({kReverseTrajectoryKl, reverse});
  }

  // Nothing of it depends on the repetition: particles are drawn once, by the first seed.
  void score_joint(Values& values) const {
    if (!joint_kl_) {
      joint_kl_ = make_joint_kl();
      refuse_impossible_joint(joint_kl_->rows);
    }
    Value joint = joint_kl_->missing.empty() ? mean_with_error(joint_kl_->rows, false)
                                             : missing(joint_kl_->missing);
    if (joint_kl_->detail.particles > 0) {
      const double change = joint_kl_->detail.half_particles_change;
      joint.bound_change = std::isnan(change) ? std::numeric_limits<double>::infinity() : change;
    }
    values.push_back({kJointKl, std::move(joint)});
  }

  JointKl make_joint_kl() const {
    if (std::string reason = why_no_joint_kl(); !reason.empty()) {
      return {.missing = std::move(reason)};
    }
    if (!coupling_.has_joint()) return joint_kl_by_particles();
    std::vector<double> rows = log_conditional_of(*truth_, test_x1_.view());
    const std::vector<double> log_own = log_conditional_of(coupling_, test_x1_.view());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] -= log_own[i];
    return exact_joint_kl(std::move(rows));
  }

  std::string why_no_joint_kl() const {
    if (!truth_) return no_truth();
    if (!truth_->has_joint()) return "the truth gives no joint log-probability";
    if (coupling_.has_joint()) return {};
    const std::string no_joint = coupling_.why_missing(Ability::kJoint, num_steps_);
    if (!coupling_.has_joint_transitions(num_steps_)) return no_joint;
    return options_.particles > 0 ? "" : no_joint + ", and particles = 0";
  }

  JointKl joint_kl_by_particles() const {
    ParticlePlan plan;
    plan.particles = {num_steps_, options_.particles, options_.seed};
    plan.max_seconds = options_.max_seconds;
    if (truth_->has_joint_transitions(num_steps_)) {
      return particle_joint_kl(context_, pair_.reference(), *truth_, coupling_, plan,
                               {test_x0_.view(), test_x1_.view()});
    }
    // Such a truth draws on the host; the particles need no more of it than these.
    const std::vector<double> log_truth = log_conditional_of(*truth_, test_x1_.view());
    const bool on_device = context_.device != Device::kCpu && coupling_.takes_device_memory();
    const backend::PlacedStates x0(context_, on_device, test_.x0),
        x1(context_, on_device, test_.x1);
    return particle_joint_kl(context_, pair_.reference(), *truth_, coupling_, plan,
                             {x0.view(), x1.view(), 0, log_truth});
  }

  Value offdiagonal(Value value) const {
    if (pair_.dim() == 1) return missing("one coordinate has no pairs of different ones");
    return value;
  }

  std::string no_truth() const {
    return fmt::format("the truth of the reverse needs {}", pair_.missing_truth(context_));
  }

  std::string no_marginals() const {
    return truth_ ? "the truth has no closed-form marginals" : no_truth();
  }

  const Context& context_;
  const BenchmarkPair& pair_;
  const Coupling& coupling_;
  const EvaluationOptions& options_;
  int num_steps_;
  std::shared_ptr<const Coupling> truth_;
  bool on_device_;  // whether states stay in the device's memory
  PairedStates test_;
  backend::PlacedStates test_x0_, test_x1_;
  States inputs_;
  Array3<double> log_truth_;  // [inputs, D, S]; empty where the truth has no marginals
  mutable std::optional<JointKl> joint_kl_;  // made once
  mutable std::optional<std::uint64_t> kept_digest_;
};

void check_request(const BenchmarkPair& pair, const Coupling& coupling,
                   const EvaluationOptions& options) {
  if (coupling.dim() != pair.dim() || coupling.num_categories() != pair.num_categories()) {
    throw_invalid(
        "evaluate", "the coupling must live on {{0..{}}}^{} like the pair, got {{0..{}}}^{}",
        pair.num_categories() - 1, pair.dim(), coupling.num_categories() - 1, coupling.dim());
  }
  const auto check_range = []<typename T>(const char* name, T value, T high) {
    if (value < 1 || value > high) {
      throw_invalid("evaluate", "{} must lie in 1..{}, got {}", name, high, value);
    }
  };
  check_range("num_seeds", options.num_seeds, kMaxEvaluationSeeds);
  check_range("num_trajectories", options.num_trajectories, kMaxTrajectories);
  check_range("conditional_samples", options.conditional_samples, kMaxConditionalSamples);
  if (options.particles > kMaxParticles) {
    throw_invalid("evaluate", "particles must lie in 0..{}, got {}", kMaxParticles,
                  options.particles);
  }
  if (!(options.max_seconds >= 0.0)) {
    throw_invalid("evaluate", "max_seconds must be at least 0, got {}", options.max_seconds);
  }
  const int total = pair.bridge().process().total_steps();
  const int steps = options.num_steps.value_or(trajectory_steps(coupling, {}));
  if (steps < 1 || total % steps != 0) {
    throw_invalid("evaluate", "num_steps must be a positive divisor of {}, got {}", total, steps);
  }
}

// Draws for one conditional input at a time, the test set with its answers and a term of the shape
// and trend for each of its entries, and the marginals of truth and coupling.
void require_evaluation_memory(const BenchmarkPair& pair, const EvaluationOptions& options) {
  const double D = static_cast<double>(pair.dim()), S = pair.num_categories(),
               rows = static_cast<double>(kTestSetSize),
               inputs = std::ceil(rows / static_cast<double>(kConditionalStride)),
               draws = static_cast<double>(options.conditional_samples);
  require_memory(
      sizeof(std::int32_t) * D * (3.0 * draws + 8.0 * rows) + 2.0 * sizeof(double) * inputs * D * S,
      fmt::format("an evaluation with {} conditional samples on D = {}, S = {}",
                  options.conditional_samples, pair.dim(), pair.num_categories()),
      "conditional_samples");
}

const Score* find(const std::vector<Score>& scores, std::string_view name) {
  const auto found = std::find_if(scores.begin(), scores.end(),
                                  [&](const Score& score) { return score.name == name; });
  return found == scores.end() ? nullptr : &*found;
}

}  // namespace

int trajectory_steps(const Coupling& coupling, std::optional<int> asked) {
  if (asked && coupling.has_transitions(*asked)) return *asked;
  if (coupling.own_num_steps() > 0) return coupling.own_num_steps();
  return asked.value_or(kTrajectorySteps);
}

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
  require_evaluation_memory(pair, options);
  const Protocol protocol(context, pair, coupling, options);
  Evaluation evaluation;
  evaluation.num_steps = protocol.num_steps();
  std::vector<bool> drawn_anew;
  std::vector<std::vector<BlockMeans>> blocks;  // of each score in each repetition
  for (int repetition = 0; repetition < options.num_seeds; ++repetition) {
    const Values values = protocol.run(options.seed + static_cast<std::uint64_t>(repetition));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto& [name, value] = values[i];
      if (repetition == 0) {
        evaluation.scores.push_back(
            {name, 0.0, value.standard_error, {}, value.missing, {}, value.bound_change});
        drawn_anew.push_back(value.drawn_anew);
        blocks.emplace_back();
      }
      blocks[i].push_back(value.blocks);
      evaluation.scores[i].values.push_back(value.value);
    }
  }
  for (std::size_t i = 0; i < evaluation.scores.size(); ++i) {
    Score& score = evaluation.scores[i];
    const MeanEstimate over_seeds = estimate_mean(score.values);
    score.mean = over_seeds.mean;
    score.blocks = mean_of_blocks(blocks[i]);
    if (options.num_seeds > 1 && drawn_anew[i]) score.standard_error = over_seeds.standard_error;
    if (std::isnan(score.mean) && score.missing.empty()) score.missing = "it is not a number";
  }
  evaluation.joint_kl = protocol.joint_kl_detail();
  return evaluation;
}

}  // namespace bridgemark
