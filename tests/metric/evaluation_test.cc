#include "bridgemark/metric/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/record/evaluation_json.h"
#include "bridgemark/metric/sample_scores.h"
#include "tests/io/io_testing.h"
#include "tests/metric/evaluation_testing.h"
#include "tests/support/enumerate.h"
#include "tests/support/small_pair.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::DenseOracle;
using testing::fit;
using testing::is_near;
using testing::kInfinity;
using testing::kRows;
using testing::pair_with_test_set;
using testing::quick_options;
using testing::small_spec;
using testing::state_index;
using testing::Tolerance;
using testing::Wide;
using testing::with_threads;

// Equal bit for bit; NaN equals NaN.
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void expect_same(const Evaluation& left, const Evaluation& right) {
  ASSERT_EQ(left.scores.size(), right.scores.size());
  for (std::size_t i = 0; i < left.scores.size(); ++i) {
    const Score &a = left.scores[i], &b = right.scores[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_TRUE(same(a.mean, b.mean)) << a.name << ": " << a.mean << " and " << b.mean;
    EXPECT_TRUE(same(a.standard_error, b.standard_error)) << a.name;
    ASSERT_EQ(a.values.size(), b.values.size());
    for (std::size_t j = 0; j < a.values.size(); ++j) {
      EXPECT_TRUE(same(a.values[j], b.values[j])) << a.name;
    }
    EXPECT_EQ(a.blocks, b.blocks) << a.name;
  }
}

TEST(Evaluation, OracleIsTheCeiling) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  const Evaluation scores = evaluate({}, pair, *fit("oracle", pair), quick_options());
  EXPECT_NEAR(scores.mean("exact_conditional_shape_score"), 1.0, 1e-6);
  EXPECT_EQ(scores.mean("forward_trajectory_kl"), 0.0);
  EXPECT_EQ(scores.mean("reverse_trajectory_kl"), 0.0);
  EXPECT_EQ(scores.mean("joint_kl"), 0.0);
  EXPECT_EQ(scores.standard_error("joint_kl"), 0.0);
  // The sampled scores stay below 1 by the noise of 600 and of 1000 draws alone.
  for (const char* name : {"shape_score", "trend_score", "trend_offdiagonal",
                           "conditional_shape_score", "conditional_trend_score",
                           "conditional_trend_offdiagonal", "sampled_conditional_shape_score"}) {
    EXPECT_GT(scores.mean(name), 0.8) << name;
    EXPECT_LT(scores.mean(name), 1.0) << name;
  }
  // One side of it is exact, so it has half of the other's noise.
  EXPECT_GT(scores.mean("sampled_conditional_shape_score"), scores.mean("conditional_shape_score"));
}

TEST(Evaluation, MoreConditionalSamplesRaiseTheCeiling) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  const std::shared_ptr<const Coupling> oracle = fit("oracle", pair);
  EvaluationOptions few = quick_options(), many = quick_options();
  few.conditional_samples = 100;
  many.conditional_samples = 20000;
  const Evaluation low = evaluate({}, pair, *oracle, few), high = evaluate({}, pair, *oracle, many);
  for (const char* name :
       {"conditional_shape_score", "conditional_trend_score", "sampled_conditional_shape_score"}) {
    EXPECT_LT(low.mean(name), 0.97) << name;
    EXPECT_GT(high.mean(name), 0.98) << name;
  }
  EXPECT_EQ(low.mean("exact_conditional_shape_score"), high.mean("exact_conditional_shape_score"));
}

TEST(Evaluation, ReferenceMatchesEnumeration) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), 20000);
  const CpBridge reference(
      pair.reference(),
      CpPotential({0.0},
                  Array3<double>(2, static_cast<std::size_t>(pair.num_categories()), 1, 0.0)));
  const DenseOracle truth = testing::dense_oracle(pair.cp_bridge()),
                    other = testing::dense_oracle(reference);
  const Wide q = truth.conditional(), r = other.conditional();
  const int S = pair.num_categories();
  const PairedStates test = pair.test_set({});
  const Evaluation scores = evaluate({}, pair, *fit("reference", pair), quick_options());

  double on_test_set = 0.0;
  for (std::size_t i = 0; i < test.x0.rows(); ++i) {
    const std::size_t from = state_index(test.x0.row(i), 2, S),
                      to = state_index(test.x1.row(i), 2, S);
    on_test_set += static_cast<double>(std::log(q(from, to) / r(from, to)));
  }
  on_test_set /= static_cast<double>(test.x0.rows());
  EXPECT_TRUE(is_near(scores.mean("joint_kl"), on_test_set, Tolerance{1e-10, 0.0}));

  // The expectation it estimates, within 4.5 of its own standard errors.
  const std::vector<double> p0 = testing::source_probabilities(pair, truth.states());
  long double exact = 0.0L;
  for (std::size_t i = 0; i < truth.num_states(); ++i) {
    for (std::size_t j = 0; j < truth.num_states(); ++j) {
      if (q(i, j) > 0.0L) exact += p0[i] * q(i, j) * std::log(q(i, j) / r(i, j));
    }
  }
  const double error = scores.standard_error("joint_kl");
  EXPECT_NEAR(scores.mean("joint_kl"), static_cast<double>(exact), 4.5 * error);
  EXPECT_LT(error, 0.02 * static_cast<double>(exact));

  const Array3<long double> own = other.marginals(r), best = truth.marginals(q);
  const States inputs = conditional_inputs(test.x0);
  long double shape = 0.0L;
  for (std::size_t i = 0; i < inputs.rows(); ++i) {
    const std::size_t x = state_index(inputs.row(i), 2, S);
    for (std::size_t c = 0; c < 2 * static_cast<std::size_t>(S); ++c) {
      shape += std::abs(own.row(x, 0)[c] - best.row(x, 0)[c]);
    }
  }
  const double expected =
      1.0 - static_cast<double>(shape) / 4.0 / static_cast<double>(inputs.rows());
  EXPECT_TRUE(
      is_near(scores.mean("exact_conditional_shape_score"), expected, Tolerance{1e-10, 0.0}));
}

TEST(Evaluation, PerplexityAndEntropyAreThoseOfTheAnswers) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  const std::shared_ptr<const Coupling> oracle = fit("oracle", pair);
  EvaluationOptions options = quick_options();
  options.seed = 12;
  const Evaluation scores = evaluate({}, pair, *oracle, options);
  const PairedStates test = pair.test_set({});
  States answers(kRows, 2);
  oracle->sample({}, test.x0, {12, DrawPurpose::kPrediction}, 0, answers);
  const DenseOracle dense = testing::dense_oracle(pair.cp_bridge());
  const Wide q = dense.conditional();
  double log_q = 0.0;
  for (std::size_t i = 0; i < kRows; ++i) {
    log_q +=
        static_cast<double>(std::log(q(state_index(test.x0.row(i), 2, pair.num_categories()),
                                       state_index(answers.row(i), 2, pair.num_categories()))));
  }
  EXPECT_TRUE(
      is_near(scores.mean("sb_perplexity"), std::exp(-log_q / kRows / 2.0), Tolerance{1e-10, 0.0}));
  EXPECT_EQ(scores.mean("mean_marginal_entropy"),
            mean_marginal_entropy(answers, pair.num_categories()));
}

TEST(Evaluation, DoesNotDependOnThreads) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  EvaluationOptions options = quick_options();
  options.c2st = true;
  for (const char* solver : {"oracle", "independent", "reference", "feature-wise"}) {
    SCOPED_TRACE(solver);
    const std::shared_ptr<const Coupling> coupling = fit(solver, pair);
    const Evaluation one = evaluate(with_threads(1), pair, *coupling, options);
    EXPECT_FALSE(std::isnan(one.mean("c2st_auc")));
    for (const int threads : {2, 5}) {
      expect_same(one, evaluate(with_threads(threads), pair, *coupling, options));
    }
  }
}

TEST(Evaluation, SeveralSeedsGiveMeanAndStandardError) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  const std::shared_ptr<const Coupling> coupling = fit("reference", pair);
  EvaluationOptions options = quick_options();
  options.seed = 40;
  options.num_seeds = 3;
  const Evaluation together = evaluate({}, pair, *coupling, options);
  std::vector<Evaluation> alone;
  options.num_seeds = 1;
  for (; options.seed < 43; ++options.seed) {
    alone.push_back(evaluate({}, pair, *coupling, options));
  }
  for (const Score& score : together.scores) {
    SCOPED_TRACE(score.name);
    ASSERT_EQ(score.values.size(), 3u);
    const double a = alone[0].mean(score.name), b = alone[1].mean(score.name),
                 c = alone[2].mean(score.name), mean = (a + b + c) / 3.0;
    EXPECT_EQ(score.values, (std::vector<double>{a, b, c}));
    EXPECT_NEAR(score.mean, mean, 1e-14 * std::abs(mean));
    if (score.name == "joint_kl") continue;
    if (score.name == "exact_conditional_shape_score") {  // no draws, so no error of theirs
      EXPECT_TRUE(std::isnan(score.standard_error));
      continue;
    }
    const double squares =
        (a - mean) * (a - mean) + (b - mean) * (b - mean) + (c - mean) * (c - mean);
    EXPECT_NEAR(score.standard_error, std::sqrt(squares / 2.0 / 3.0), 1e-12);
  }
  // Draws differ from seed to seed; the joint KL is of the test set and has its error.
  EXPECT_NE(alone[0].mean("shape_score"), alone[1].mean("shape_score"));
  EXPECT_NE(alone[0].mean("forward_trajectory_kl"), alone[1].mean("forward_trajectory_kl"));
  EXPECT_EQ(alone[0].mean("joint_kl"), alone[1].mean("joint_kl"));
  EXPECT_EQ(together.standard_error("joint_kl"), alone[0].standard_error("joint_kl"));
  EXPECT_GT(together.standard_error("joint_kl"), 0.0);
}

// The blocks of a score average to it, over the repetitions as well.
TEST(Evaluation, ScoresThatAreMeansOverInputsHaveBlocks) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  EvaluationOptions options = quick_options();
  options.num_seeds = 2;
  options.c2st = true;
  const std::map<std::string, std::size_t> inputs = {{"shape_score", kRows},
                                                     {"trend_score", kRows},
                                                     {"trend_offdiagonal", kRows},
                                                     {"joint_kl", kRows},
                                                     {"conditional_shape_score", 5},
                                                     {"conditional_trend_score", 5},
                                                     {"conditional_trend_offdiagonal", 5},
                                                     {"sampled_conditional_shape_score", 5},
                                                     {"exact_conditional_shape_score", 5},
                                                     {"forward_trajectory_kl", 100},
                                                     {"reverse_trajectory_kl", 100}};
  std::size_t found = 0;
  for (const Score& score : evaluate({}, pair, *fit("reference", pair), options).scores) {
    SCOPED_TRACE(score.name);
    ASSERT_EQ(inputs.contains(score.name), !score.blocks.means.empty());
    if (score.blocks.means.empty()) continue;
    ++found;
    ASSERT_EQ(score.blocks.rows, inputs.at(score.name));
    ASSERT_EQ(score.blocks.means.size(), std::min(kMeanBlocks, score.blocks.rows));
    double sum = 0.0;
    for (std::size_t b = 0; b < score.blocks.means.size(); ++b) {
      sum += score.blocks.means[b] * static_cast<double>(score.blocks.block_rows(b));
    }
    const double mean = sum / static_cast<double>(score.blocks.rows);
    EXPECT_TRUE(is_near(mean, score.mean, Tolerance{5e-6, 0.0}));
  }
  EXPECT_EQ(found, inputs.size());
}

// A chain with a number of steps is scored on it; another number wins where it is asked for and
// there are transitions for it.
TEST(Evaluation, TrajectoriesAreOnTheCouplingsOwnGrid) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  const CpBridge any(pair.reference(), pair.cp_bridge().potential());
  const CpBridge eight(pair.reference(), pair.cp_bridge().potential(), 8);
  const testing::OnlySamples none(fit("reference", pair));
  EXPECT_EQ(trajectory_steps(any, {}), kTrajectorySteps);
  EXPECT_EQ(trajectory_steps(any, 4), 4);
  EXPECT_EQ(trajectory_steps(eight, {}), 8);
  EXPECT_EQ(trajectory_steps(eight, 4), 4);
  EXPECT_EQ(trajectory_steps(eight, 5), 8);
  EXPECT_EQ(trajectory_steps(none, {}), kTrajectorySteps);
  EXPECT_EQ(trajectory_steps(none, 4), 4);
  EvaluationOptions options = quick_options();
  options.num_steps.reset();
  EXPECT_EQ(evaluate({}, pair, eight, options).num_steps, 8);
  EXPECT_THROW(CpBridge(pair.reference(), pair.cp_bridge().potential(), 5), InvalidArgument);
}

TEST(Evaluation, ReversedPairs) {
  PairSpec spec = small_spec();
  spec.reverse = true;
  const BenchmarkPair listed = pair_with_test_set(spec, kRows);
  const Evaluation oracle = evaluate({}, listed, *fit("oracle", listed), quick_options());
  EXPECT_NEAR(oracle.mean("exact_conditional_shape_score"), 1.0, 1e-12);
  EXPECT_EQ(oracle.mean("joint_kl"), 0.0);
  EXPECT_GT(oracle.mean("conditional_shape_score"), 0.9);
  EXPECT_GT(oracle.mean("shape_score"), 0.9);
  const Evaluation reference = evaluate({}, listed, *fit("reference", listed), quick_options());
  EXPECT_GT(reference.mean("joint_kl"), 0.1);

  spec.dim = 5;  // 7776 states: exact draws, no closed forms of marginals and transitions
  const BenchmarkPair large = pair_with_test_set(spec, kRows);
  const Evaluation ceiling = evaluate({}, large, *fit("oracle", large), quick_options());
  EXPECT_EQ(ceiling.mean("joint_kl"), 0.0);
  EXPECT_GT(ceiling.mean("conditional_shape_score"), 0.9);
  const Evaluation far = evaluate({}, large, *fit("reference", large), quick_options());
  EXPECT_GT(far.mean("joint_kl"), 5.0 * far.standard_error("joint_kl"));
  EXPECT_LT(far.mean("conditional_shape_score"), ceiling.mean("conditional_shape_score"));
  const nlohmann::json reasons = evaluation_json(far).at("missing");
  EXPECT_EQ(reasons.at("forward_trajectory_kl"),
            "the truth has no closed-form transitions with 4 steps");
  EXPECT_EQ(reasons.at("exact_conditional_shape_score"), "the truth has no closed-form marginals");
  EXPECT_EQ(reasons.at("sampled_conditional_shape_score"),
            "the truth has no closed-form marginals");
  EXPECT_EQ(reasons.size(), 4u);

  // The reverse of too many observed states has no truth, only draws.
  spec.dim = 1400;
  spec.source = SourceDistribution::empirical(States(2001, 1400), 6);
  const BenchmarkPair observed = build_pair(spec);
  BenchmarkPair none = observed;
  none.store_test_set(observed.sample_joint({}, 8, 1));
  const Evaluation blind = evaluate({}, none, *fit("independent", none), quick_options());
  EXPECT_GT(blind.mean("shape_score"), 0.1);
  for (const char* name : {"conditional_shape_score", "exact_conditional_shape_score", "joint_kl",
                           "sb_perplexity", "forward_trajectory_kl"}) {
    EXPECT_TRUE(std::isnan(blind.mean(name))) << name;
  }
  EXPECT_EQ(evaluation_json(blind).at("missing").at("joint_kl"),
            "the truth of the reverse needs a p0 of at most 1997 observed states, got 2001");
}

// A reader can tell a KL that is infinite from one that cannot be given.
TEST(Evaluation, JsonNamesWhatIsInfinite) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  Evaluation evaluation;
  evaluation.scores = {{"shape_score", 0.5, 0.1, {0.5}},
                       {"joint_kl", kInfinity, kNaN, {kInfinity}},
                       {"sb_perplexity", kNaN, kNaN, {kNaN}, "a reason"}};
  const nlohmann::json json = evaluation_json(evaluation);
  EXPECT_TRUE(json.at("joint_kl").is_null());
  EXPECT_TRUE(json.at("sb_perplexity").is_null());
  EXPECT_EQ(json.at("infinite"), nlohmann::json::array({"joint_kl"}));
  EXPECT_EQ(json.at("missing"), nlohmann::json({{"sb_perplexity", "a reason"}}));
  EXPECT_EQ(nlohmann::json::parse(json.dump()), json);
}

TEST(Evaluation, RefusesBadRequests) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), kRows);
  const std::shared_ptr<const Coupling> coupling = fit("oracle", pair);
  const auto refuses = [&](auto&& change) {
    EvaluationOptions options = quick_options();
    change(options);
    EXPECT_THROW(evaluate({}, pair, *coupling, options), InvalidArgument);
  };
  refuses([](EvaluationOptions& options) { options.num_seeds = 0; });
  refuses([](EvaluationOptions& options) { options.num_seeds = kMaxEvaluationSeeds + 1; });
  refuses([](EvaluationOptions& options) { options.num_steps = 3; });
  refuses([](EvaluationOptions& options) { options.num_steps = 0; });
  refuses([](EvaluationOptions& options) { options.num_trajectories = 0; });
  refuses([](EvaluationOptions& options) { options.num_trajectories = kMaxTrajectories + 1; });
  refuses([](EvaluationOptions& options) { options.conditional_samples = 0; });
  refuses(
      [](EvaluationOptions& options) { options.conditional_samples = kMaxConditionalSamples + 1; });
  PairSpec other = small_spec();
  other.num_categories = 7;
  EXPECT_THROW(evaluate({}, build_pair(other), *coupling, quick_options()), InvalidArgument);
  other = small_spec();
  other.dim = 3;
  EXPECT_THROW(evaluate({}, build_pair(other), *coupling, quick_options()), InvalidArgument);
}

TEST(Evaluation, UnknownScoreIsNaN) {
  EXPECT_TRUE(std::isnan(Evaluation{}.mean("shape_score")));
  EXPECT_TRUE(std::isnan(Evaluation{}.standard_error("shape_score")));
}

// A million draws of a hundred thousand coordinates, for each conditional input.
TEST(Evaluation, MoreThanMemoryHoldsIsRefusedFirst) {
  PairSpec spec = small_spec();
  spec.dim = 100000;
  spec.num_categories = 2;
  spec.num_components = 1;
  spec.potential = CpPotential({0.0}, Array3<double>(100000, 2, 1));
  const BenchmarkPair pair = build_pair(spec);
  EvaluationOptions options = quick_options();
  options.conditional_samples = kMaxConditionalSamples;
  const std::string message =
      testing::error_of<InvalidArgument>([&] { evaluate({}, pair, *pair.truth({}), options); });
  EXPECT_TRUE(message.starts_with("[memory] an evaluation with 1000000 conditional samples"))
      << message;
  EXPECT_TRUE(message.ends_with("; lower conditional_samples")) << message;
}

}  // namespace
}  // namespace bridgemark
