#include "bridgemark/metric/prediction_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/metric/evaluation.h"
#include "tests/support/enumerate.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TempDir;

constexpr std::size_t kAnsweredRows = 300;  // 3 conditional inputs
constexpr std::uint64_t kSeed = 8;

// A pair, one of its couplings, and a folder with that coupling's answers.
class PredictionFilesTest : public ::testing::Test {
 protected:
  PredictionFilesTest() : pair_(testing::pair_with_test_set(testing::small_spec(), kAnsweredRows)) {
    coupling_ = testing::fit_solver("reference", pair_).coupling;
    const PairedStates test = pair_.test_set({});
    answers_ = States(kAnsweredRows, 2);
    coupling_->sample({}, test.x0, {kSeed, DrawPurpose::kPrediction}, 0, answers_);
    const States inputs = conditional_inputs(test.x0);
    conditional_ = States(inputs.rows() * kConditionalSamples, 2);
    for (std::size_t i = 0; i < inputs.rows(); ++i) {
      const std::size_t first = i * kConditionalSamples;
      coupling_->sample({}, testing::repeat_row(inputs, i, kConditionalSamples),
                        {kSeed, DrawPurpose::kConditionalPrediction}, first,
                        conditional_.view().slice(first, kConditionalSamples));
    }
    write_good();
  }

  std::filesystem::path answers_path() const { return folder_.path() / "pred_x1.npy"; }
  std::filesystem::path conditional_path() const {
    return folder_.path() / "pred_conditional_x1.npy";
  }

  static std::span<const std::int32_t> values(const States& states) {
    return {states.data(), states.size()};
  }

  void write_good() {
    save_npy(answers_path(), {kAnsweredRows, 2}, values(answers_));
    save_npy(conditional_path(), {3, kConditionalSamples, 2}, values(conditional_));
  }

  std::unique_ptr<Coupling> load() const { return load_predictions({}, pair_, folder_.path()); }

  // The message of the FileError; anything else fails the test.
  std::string error() const {
    try {
      load();
    } catch (const FileError& error) {
      return error.what();
    }
    ADD_FAILURE() << "expected a FileError";
    return "";
  }

  BenchmarkPair pair_;
  std::shared_ptr<const Coupling> coupling_;
  States answers_, conditional_;
  TempDir folder_;
};

// Who knows the seed of an evaluation knows the truth's draws beside a coupling that draws anew,
// but those beside kept answers depend on the answers.
TEST_F(PredictionFilesTest, NobodyKnowsTheDrawsBesideKeptAnswers) {
  const std::shared_ptr<const Coupling> truth = pair_.truth({});
  const States inputs = conditional_inputs(pair_.test_set({}).x0);
  for (std::size_t i = 0; i < inputs.rows(); ++i) {
    const std::size_t first = i * kConditionalSamples;
    truth->sample({}, testing::repeat_row(inputs, i, kConditionalSamples),
                  {kSeed, DrawPurpose::kTruthSample}, first,
                  {conditional_.row(first), kConditionalSamples, 2});
  }
  write_good();
  EvaluationOptions options;
  options.seed = kSeed;
  const double copied = evaluate({}, pair_, *load(), options).mean("conditional_shape_score"),
               of_truth = evaluate({}, pair_, *truth, options).mean("conditional_shape_score");
  EXPECT_LT(copied, 1.0);
  EXPECT_NEAR(copied, of_truth, 0.03);
}

TEST_F(PredictionFilesTest, ScoreLikeTheCouplingThatWroteThem) {
  EvaluationOptions options;
  options.seed = kSeed;
  options.num_steps = 4;
  options.c2st = true;
  const Evaluation direct = evaluate({}, pair_, *coupling_, options);
  const Evaluation files = evaluate({}, pair_, *load(), options);
  for (const char* name :
       {"shape_score", "trend_score", "trend_offdiagonal", "mean_marginal_entropy", "sb_perplexity",
        "sampled_conditional_shape_score", "c2st_auc", "c2st_score"}) {
    EXPECT_FALSE(std::isnan(files.mean(name))) << name;
    EXPECT_EQ(direct.mean(name), files.mean(name)) << name;
  }
  for (const char* name :
       {"conditional_shape_score", "conditional_trend_score", "conditional_trend_offdiagonal"}) {
    EXPECT_NEAR(direct.mean(name), files.mean(name), 0.03) << name;  // other draws of the truth
  }
  for (const char* name : {"exact_conditional_shape_score", "joint_kl", "forward_trajectory_kl",
                           "reverse_trajectory_kl"}) {
    EXPECT_TRUE(std::isnan(files.mean(name))) << name;
  }
}

// Files of probabilities, as double and as float, give the scores of the coupling that wrote them.
TEST_F(PredictionFilesTest, ProbabilitiesScoreLikeTheCouplingThatWroteThem) {
  const PairedStates test = pair_.test_set({});
  Array3<double> marginals;
  coupling_->log_marginals({}, conditional_inputs(test.x0), marginals);
  std::vector<double> joint(kAnsweredRows);
  coupling_->log_conditional({}, test.x0, test.x1, joint);
  const std::vector<float> narrow(marginals.data(), marginals.data() + marginals.size());
  NpyWriter writer(folder_.path() / "pred_log_marginals.npy", DType::kF32, {3, 2, 6});
  writer.append(narrow.data(), narrow.size() * sizeof(float));
  writer.commit();
  save_npy(folder_.path() / "pred_log_conditional.npy", {kAnsweredRows},
           std::span<const double>(joint));
  const EvaluationOptions options{.seed = kSeed, .num_steps = 4};
  const Evaluation direct = evaluate({}, pair_, *coupling_, options);
  const Evaluation files = evaluate({}, pair_, *load(), options);
  EXPECT_GT(direct.mean("joint_kl"), 0.1);
  EXPECT_EQ(direct.mean("joint_kl"), files.mean("joint_kl"));
  EXPECT_NEAR(direct.mean("exact_conditional_shape_score"),
              files.mean("exact_conditional_shape_score"), 1e-6);
}

TEST_F(PredictionFilesTest, MissingProbabilitiesAreNamed) {
  const Evaluation files = evaluate({}, pair_, *load(), {.num_steps = 4});
  const auto reason = [&](std::string_view name) {
    for (const Score& score : files.scores) {
      if (score.name == name) return score.missing;
    }
    return std::string("no such score");
  };
  EXPECT_EQ(reason("exact_conditional_shape_score"),
            "the answers have no log-marginals (pred_log_marginals.npy)");
  EXPECT_EQ(reason("joint_kl"),
            "the answers have no joint log-probability (pred_log_conditional.npy)");
  EXPECT_EQ(reason("forward_trajectory_kl"), "answers have no transitions");
}

TEST_F(PredictionFilesTest, BadProbabilitiesAreRefused) {
  const std::filesystem::path marginals = folder_.path() / "pred_log_marginals.npy";
  std::vector<double> values(3 * 2 * 6, std::log(1.0 / 6.0));
  const auto save_marginals = [&] {
    save_npy(marginals, {3, 2, 6}, std::span<const double>(values));
  };
  save_npy(marginals, {3, 12}, std::span<const double>(values));
  EXPECT_THAT(error(), AllOf(HasSubstr("pred_log_marginals.npy"), HasSubstr("[3, 2, 6]"),
                             HasSubstr("[3, 12]")));
  for (const double bad : {0.0, std::nan(""), std::log(1.0 / 6.0) + 1e-3}) {
    values[20] = bad;
    save_marginals();
    EXPECT_THAT(error(), AllOf(HasSubstr("pred_log_marginals.npy"), HasSubstr("sum to 1"),
                               HasSubstr("in row 3")))
        << bad;
  }
  values[20] = std::log(1.0 / 6.0) + 1e-5;  // float32 is no better
  save_marginals();
  EXPECT_NO_THROW(load());
  const std::filesystem::path joint = folder_.path() / "pred_log_conditional.npy";
  for (const double bad : {0.5, std::nan("")}) {
    std::vector<double> log_q(kAnsweredRows, -1.0);
    log_q[7] = bad;
    save_npy(joint, {kAnsweredRows}, std::span<const double>(log_q));
    EXPECT_THAT(error(), AllOf(HasSubstr("pred_log_conditional.npy"), HasSubstr("at most 0"),
                               HasSubstr("row 7")))
        << bad;
  }
}

// Answers in files are the same in each repetition: only what the protocol draws has an error.
TEST_F(PredictionFilesTest, NoErrorWhereNothingWasDrawnAnew) {
  EvaluationOptions options;
  options.num_seeds = 3;
  options.num_steps = 4;
  const Evaluation files = evaluate({}, pair_, *load(), options);
  for (const char* name : {"shape_score", "trend_score", "trend_offdiagonal", "sb_perplexity",
                           "mean_marginal_entropy", "sampled_conditional_shape_score"}) {
    EXPECT_FALSE(std::isnan(files.mean(name))) << name;
    EXPECT_TRUE(std::isnan(files.standard_error(name))) << name;
  }
  for (const char* name : {"conditional_shape_score", "conditional_trend_score"}) {
    EXPECT_GT(files.standard_error(name), 0.0) << name;  // the truth's draws
  }
  const Evaluation drawn = evaluate({}, pair_, *coupling_, options);
  EXPECT_GT(drawn.standard_error("shape_score"), 0.0);
  EXPECT_GT(drawn.standard_error("sampled_conditional_shape_score"), 0.0);
}

TEST_F(PredictionFilesTest, AnotherNumberOfConditionalSamples) {
  constexpr std::size_t kSamples = 250;
  save_npy(conditional_path(), {3, kSamples, 2}, values(conditional_).first(3 * kSamples * 2));
  EXPECT_THAT(error(), AllOf(HasSubstr("[3, 1000, 2]"), HasSubstr("[3, 250, 2]")));
  const std::unique_ptr<Coupling> loaded = load_predictions({}, pair_, folder_.path(), kSamples);
  EvaluationOptions options{.num_steps = 4, .conditional_samples = kSamples};
  EXPECT_GT(evaluate({}, pair_, *loaded, options).mean("conditional_shape_score"), 0.1);
  options.conditional_samples = 100;
  EXPECT_THROW(evaluate({}, pair_, *loaded, options), InvalidArgument);
}

TEST_F(PredictionFilesTest, AnswersInMemoryScoreLikeFiles) {
  const auto score = [&](const Coupling& coupling) {
    return evaluate({}, pair_, coupling, {.seed = kSeed, .num_steps = 4});
  };
  const auto in_memory = make_predictions({}, pair_, answers_, conditional_);
  const Evaluation direct = score(*in_memory), files = score(*load());
  for (const char* name : {"shape_score", "conditional_trend_score"}) {
    EXPECT_EQ(direct.mean(name), files.mean(name)) << name;
  }
  EXPECT_THROW(make_predictions({}, pair_, States(kAnsweredRows - 1, 2, 0), conditional_),
               InvalidArgument);
  EXPECT_THROW(make_predictions({}, pair_, answers_, States(3 * 999, 2, 0)), InvalidArgument);
  EXPECT_THROW(make_predictions({}, pair_, States(kAnsweredRows, 2, 6), conditional_),
               InvalidArgument);
}

TEST_F(PredictionFilesTest, TakeAnyIntegerDtype) {
  NpyWriter writer(answers_path(), DType::kI64, {kAnsweredRows, 2});
  const std::vector<std::int64_t> wide(answers_.data(), answers_.data() + answers_.size());
  writer.append(wide.data(), wide.size() * sizeof(std::int64_t));
  writer.commit();
  States x1(kAnsweredRows, 2);
  load()->sample({}, pair_.test_set({}).x0, {0, DrawPurpose::kPrediction}, 0, x1);
  EXPECT_EQ(x1, answers_);
}

TEST_F(PredictionFilesTest, OnlyAnswerTheProtocol) {
  const std::unique_ptr<Coupling> coupling = load();
  const States x0(2, 2, 0);
  States x1(2, 2);
  EXPECT_THROW(coupling->sample({}, x0, {0, DrawPurpose::kConditional}, 0, x1), InvalidArgument);
  EXPECT_THROW(coupling->sample({}, x0, {0, DrawPurpose::kPrediction}, kAnsweredRows - 1, x1),
               InvalidArgument);
  EXPECT_NO_THROW(coupling->sample({}, x0, {0, DrawPurpose::kPrediction}, kAnsweredRows - 2, x1));
}

TEST_F(PredictionFilesTest, WrongCount) {
  save_npy(answers_path(), {kAnsweredRows - 1, 2}, values(answers_).first((kAnsweredRows - 1) * 2));
  EXPECT_THAT(error(),
              AllOf(HasSubstr("pred_x1.npy"), HasSubstr("[300, 2]"), HasSubstr("[299, 2]")));
}

TEST_F(PredictionFilesTest, WrongConditionalCount) {
  save_npy(conditional_path(), {3, 999, 2}, values(conditional_).first(3 * 999 * 2));
  EXPECT_THAT(error(), AllOf(HasSubstr("pred_conditional_x1.npy"), HasSubstr("[3, 1000, 2]"),
                             HasSubstr("[3, 999, 2]")));
}

TEST_F(PredictionFilesTest, WrongShape) {
  save_npy(answers_path(), {kAnsweredRows, 1, 2}, values(answers_));
  EXPECT_THAT(error(), AllOf(HasSubstr("[300, 2]"), HasSubstr("[300, 1, 2]")));
  save_npy(answers_path(), {2, kAnsweredRows}, values(answers_));
  EXPECT_THAT(error(), AllOf(HasSubstr("[300, 2]"), HasSubstr("[2, 300]")));
  write_good();
  save_npy(conditional_path(), {3 * kConditionalSamples, 2}, values(conditional_));
  EXPECT_THAT(error(), AllOf(HasSubstr("[3, 1000, 2]"), HasSubstr("[3000, 2]")));
}

TEST_F(PredictionFilesTest, WrongDtype) {
  const std::vector<double> real(answers_.data(), answers_.data() + answers_.size());
  save_npy(answers_path(), {kAnsweredRows, 2}, std::span<const double>(real));
  EXPECT_THAT(error(), AllOf(HasSubstr("pred_x1.npy"), HasSubstr("expected an integer dtype"),
                             HasSubstr("found")));
}

TEST_F(PredictionFilesTest, OutOfRange) {
  for (const std::int32_t bad : {-1, 6, 1000000}) {
    States states = answers_;
    states(7, 1) = bad;
    save_npy(answers_path(), {kAnsweredRows, 2}, values(states));
    EXPECT_THAT(error(), AllOf(HasSubstr("pred_x1.npy"), HasSubstr("0..5"),
                               HasSubstr(std::to_string(bad)), HasSubstr("row 7")));
  }
  write_good();
  States states = conditional_;
  states(1234, 0) = 6;
  save_npy(conditional_path(), {3, kConditionalSamples, 2}, values(states));
  EXPECT_THAT(error(), AllOf(HasSubstr("pred_conditional_x1.npy"), HasSubstr("0..5")));
}

TEST_F(PredictionFilesTest, MissingAndBrokenFiles) {
  std::filesystem::remove(conditional_path());
  EXPECT_THAT(error(), HasSubstr("pred_conditional_x1.npy"));
  write_good();
  std::filesystem::remove(answers_path());
  EXPECT_THAT(error(), HasSubstr("pred_x1.npy"));
  write_good();
  std::filesystem::resize_file(answers_path(), 1000);
  EXPECT_THAT(error(), HasSubstr("pred_x1.npy"));
  std::ofstream(answers_path()) << "not an array";
  EXPECT_THAT(error(), HasSubstr("pred_x1.npy"));
  std::ofstream{answers_path()};  // empty
  EXPECT_THAT(error(), HasSubstr("pred_x1.npy"));
}

TEST_F(PredictionFilesTest, MissingFolder) {
  try {
    load_predictions({}, pair_, folder_.path() / "nowhere");
    FAIL() << "expected a FileError";
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("nowhere"), HasSubstr("pred_x1.npy")));
  }
}

}  // namespace
}  // namespace bridgemark
