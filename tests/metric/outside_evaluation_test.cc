#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/metric/record/evaluation_json.h"
#include "bridgemark/metric/sample_scores.h"
#include "tests/metric/evaluation_testing.h"
#include "tests/support/enumerate.h"

// Couplings that know less of themselves than ours: draws alone, files, some probabilities.
namespace bridgemark {
namespace {

using testing::fit;
using testing::kRows;
using testing::OnlySamples;
using testing::pair_with_test_set;
using testing::quick_options;
using testing::small_spec;

// An outside solver that knows its probabilities, and draws its transitions by nothing but these.
class WithProbabilities : public OnlySamples {
 public:
  WithProbabilities(std::shared_ptr<const Coupling> inner, int num_steps)
      : OnlySamples(inner), inner_(std::move(inner)), num_steps_(num_steps) {}
  bool has_marginals() const override { return true; }
  void write_log_marginals(const Context& context, StatesView x0,
                           MatrixView<double> out) const override {
    inner_->write_log_marginals(context, x0, out);
  }
  bool has_joint() const override { return true; }
  void log_conditional(const Context& context, StatesView x0, StatesView x1,
                       std::span<double> out) const override {
    inner_->log_conditional(context, x0, x1, out);
  }
  bool has_transitions(int num_steps) const override { return num_steps == num_steps_; }
  int own_num_steps() const override { return num_steps_; }
  void write_log_transition_marginals(const Context& context, int num_steps, int n, StatesView x,
                                      MatrixView<double> out) const override {
    inner_->write_log_transition_marginals(context, num_steps, n, x, out);
  }

 private:
  std::shared_ptr<const Coupling> inner_;
  int num_steps_;
};

TEST(OutsideEvaluation, OutsideSolverWithTheTruthsProbabilitiesIsPerfect) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  EvaluationOptions options = quick_options();
  options.num_steps = 4;  // it was fitted with 8
  const Evaluation scores = evaluate({}, pair, WithProbabilities(fit("oracle", pair), 8), options);
  EXPECT_EQ(scores.num_steps, 8);
  EXPECT_NEAR(scores.mean("exact_conditional_shape_score"), 1.0, 1e-12);
  EXPECT_EQ(scores.mean("joint_kl"), 0.0);
  EXPECT_EQ(scores.mean("forward_trajectory_kl"), 0.0);
  EXPECT_EQ(scores.mean("reverse_trajectory_kl"), 0.0);
  const Evaluation reference =
      evaluate({}, pair, WithProbabilities(fit("reference", pair), 8), options);
  for (const char* name : {"joint_kl", "forward_trajectory_kl", "reverse_trajectory_kl"}) {
    EXPECT_GT(reference.mean(name), 0.1) << name;
  }
  EXPECT_LT(reference.mean("exact_conditional_shape_score"), 0.9);
}

TEST(OutsideEvaluation, CouplingThatOnlySamples) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  const std::shared_ptr<const Coupling> full = fit("reference", pair);
  const OnlySamples coupling(full);
  const EvaluationOptions options = quick_options();
  const Evaluation scores = evaluate({}, pair, coupling, options),
                   full_scores = evaluate({}, pair, *full, options);
  for (const char* name : {"joint_kl", "forward_trajectory_kl", "reverse_trajectory_kl"}) {
    EXPECT_TRUE(std::isnan(scores.mean(name))) << name;
    EXPECT_FALSE(std::isnan(full_scores.mean(name))) << name;
  }
  for (const char* name : {"shape_score", "trend_score", "conditional_shape_score",
                           "conditional_trend_score", "sb_perplexity"}) {
    EXPECT_EQ(scores.mean(name), full_scores.mean(name)) << name;
  }
  // The exact score takes closed forms on both sides; draws have a score of their own, which every
  // coupling gets.
  const States inputs = conditional_inputs(pair.test_set({}).x0);
  const std::shared_ptr<const Coupling> truth = pair.truth({});
  Array3<double> log_truth;
  truth->log_marginals({}, inputs, log_truth);
  double sum = 0.0;
  for (std::size_t i = 0; i < inputs.rows(); ++i) {
    const States x0 = testing::repeat_row(inputs, i, kConditionalSamples);
    States x1(x0.rows(), 2);
    coupling.sample({}, x0, {0, DrawPurpose::kConditionalPrediction}, i * kConditionalSamples, x1);
    sum += shape_against_exact(
        x1, {log_truth.row(i, 0), 2, static_cast<std::size_t>(pair.num_categories())});
  }
  EXPECT_NEAR(scores.mean("sampled_conditional_shape_score"), sum / 5.0, 1e-14);
  EXPECT_EQ(scores.mean("sampled_conditional_shape_score"),
            full_scores.mean("sampled_conditional_shape_score"));
  EXPECT_TRUE(std::isnan(scores.mean("exact_conditional_shape_score")));
  EXPECT_FALSE(std::isnan(full_scores.mean("exact_conditional_shape_score")));
}

// The truth with draws of its own, whatever the protocol's key: a callable.
class TruthAsCallable : public OnlySamples {
 public:
  TruthAsCallable(std::shared_ptr<const Coupling> truth, std::uint64_t seed)
      : OnlySamples(std::move(truth)), seed_(seed) {}
  void sample(const Context& context, StatesView x0, const DrawKey&, std::uint64_t,
              MutableStatesView x1) const override {
    OnlySamples::sample(context, x0, {seed_++, DrawPurpose::kConditional}, 0, x1);
  }

 private:
  mutable std::uint64_t seed_;
};

// The truth given as files, drawn once with a seed of its own.
std::unique_ptr<Coupling> truth_as_files(const BenchmarkPair& pair, std::uint64_t seed) {
  const PairedStates test = pair.test_set({});
  const States inputs = conditional_inputs(test.x0);
  States repeated(inputs.rows() * kConditionalSamples, pair.dim());
  for (std::size_t i = 0; i < repeated.rows(); ++i) {
    std::copy_n(inputs.row(i / kConditionalSamples), pair.dim(), repeated.row(i));
  }
  return make_predictions({}, pair, pair.sample_conditional({}, test.x0, seed),
                          pair.sample_conditional({}, repeated, seed + 1));
}

// Two standard errors hold as often as they should: with 12 repetitions a side a difference exceeds
// them in 6 of 100 cases. Of 8 groups of seeds with 9 scores and 2 comparisons each, about 4 a
// group are independent, so a share above 0.25, or one beyond 5.5 errors, is less likely than 1e-4.
TEST(OutsideEvaluation, TruthScoresAlikeHoweverItIsGiven) {
  constexpr std::uint64_t kSeeds = 12, kGroups = 8;
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  const std::shared_ptr<const Coupling> truth = pair.truth({});
  std::size_t compared = 0, beyond_two = 0;
  for (std::uint64_t group = 0; group < kGroups; ++group) {
    EvaluationOptions options = quick_options();
    options.seed = 10000 * group;
    options.num_seeds = kSeeds;
    const Evaluation oracle = evaluate({}, pair, *truth, options);
    options.seed += 500;
    const Evaluation callable =
        evaluate({}, pair, TruthAsCallable(truth, 1000000 + 10000 * group), options);
    std::vector<Evaluation> files;
    options.num_seeds = 1;
    for (std::uint64_t i = 0; i < kSeeds; ++i) {
      options.seed = 10000 * group + 700 + i;
      files.push_back(
          evaluate({}, pair, *truth_as_files(pair, 2000000 + 10000 * group + 2 * i), options));
    }
    for (const Score& score : oracle.scores) {
      if (std::isnan(callable.mean(score.name))) continue;
      std::vector<double> of_files;
      for (const Evaluation& evaluation : files) of_files.push_back(evaluation.mean(score.name));
      const MeanEstimate over_files = estimate_mean(of_files);
      const auto errors_apart = [&](double mean, double standard_error) {
        return std::abs(mean - score.mean) / std::hypot(score.standard_error, standard_error);
      };
      for (const double apart :
           {errors_apart(callable.mean(score.name), callable.standard_error(score.name)),
            errors_apart(over_files.mean, over_files.standard_error)}) {
        ++compared;
        beyond_two += apart > 2.0;
        EXPECT_LT(apart, 5.5) << score.name << " in group " << group;
      }
    }
    for (const char* name :
         {"exact_conditional_shape_score", "forward_trajectory_kl", "joint_kl"}) {
      EXPECT_FALSE(std::isnan(oracle.mean(name))) << name;
      EXPECT_TRUE(std::isnan(callable.mean(name))) << name;
      EXPECT_TRUE(std::isnan(files[0].mean(name))) << name;
    }
  }
  EXPECT_EQ(compared, kGroups * 9 * 2);
  std::printf("%zu of %zu differences beyond two standard errors\n", beyond_two, compared);
  EXPECT_LT(static_cast<double>(beyond_two), 0.25 * static_cast<double>(compared));
}

TEST(OutsideEvaluation, JsonHasNullForWhatIsMissing) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  const OnlySamples coupling(fit("reference", pair));
  EvaluationOptions options = quick_options();
  options.num_seeds = 2;
  const nlohmann::json json = evaluation_json(evaluate({}, pair, coupling, options));
  for (const char* name :
       {"shape_score", "trend_score", "trend_offdiagonal", "conditional_shape_score",
        "conditional_trend_score", "sampled_conditional_shape_score"}) {
    EXPECT_TRUE(json.at(name).is_number()) << name;
    EXPECT_TRUE(json.at("standard_errors").at(name).is_number()) << name;
    EXPECT_EQ(json.at("values").at(name).size(), 2u) << name;
  }
  for (const char* name : {"forward_trajectory_kl", "reverse_trajectory_kl", "joint_kl",
                           "exact_conditional_shape_score"}) {
    EXPECT_TRUE(json.at(name).is_null()) << name;
    EXPECT_TRUE(json.at("standard_errors").at(name).is_null()) << name;
  }
  EXPECT_EQ(json.at("infinite"), nlohmann::json::array());
  const nlohmann::json reasons = {
      {"exact_conditional_shape_score", "the coupling has no closed-form marginals"},
      {"forward_trajectory_kl", "the coupling has no transitions with 4 steps"},
      {"reverse_trajectory_kl", "the coupling has no transitions with 4 steps"},
      {"joint_kl", "the coupling gives no joint log-probability"}};
  EXPECT_EQ(json.at("missing"), reasons);
}

}  // namespace
}  // namespace bridgemark
