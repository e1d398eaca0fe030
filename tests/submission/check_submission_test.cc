#include "bridgemark/submission/check_submission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/submission/rescoring.h"
#include "tests/submission/submission_testing.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kBoardAnswers;
using testing::kBoardPair;
using testing::replace_in_file;

class SubmissionTest : public ::testing::Test {
 protected:
  std::filesystem::path folder() const { return dir_.path() / "mine"; }
  std::filesystem::path answers() const { return folder() / kBoardAnswers; }
  SubmissionCheck check() const { return check_submission({}, folder()); }

  // Overwrites the first bytes of an array, a state each.
  void set_states(const std::string& file, std::size_t count, char value) const {
    std::string bytes = testing::slurp(answers() / file);
    bytes.replace(128, count, count, value);  // behind the header
    std::ofstream(answers() / file, std::ios::binary) << bytes;
  }

  testing::TempDir dir_;
};

TEST_F(SubmissionTest, IsGoodAsItIsMade) {
  testing::make_whole_submission(folder());
  const SubmissionCheck good = check();
  EXPECT_THAT(good.refusals, IsEmpty());
  ASSERT_EQ(good.results.size(), 1u);
  EXPECT_EQ(good.results[0].method, "Mine");
  EXPECT_EQ(good.results[0].pair, kBoardPair);
  EXPECT_EQ(good.results[0].train_seconds, 1.5);
  EXPECT_EQ(good.results[0].machine, "two cores");
  EXPECT_NE(good.results[0].find("conditional_shape_score"), nullptr);
  EXPECT_EQ(good.results[0].find("joint_kl"), nullptr);
  // States fit into bytes: a quarter of int32.
  EXPECT_EQ(std::filesystem::file_size(answers() / "pred_x1.npy"), 128u + 20000u * 2u);
}

// Of draws that depend on nothing but them: those of the truth beside them depend on the answers.
TEST_F(SubmissionTest, ScoresAreThoseOfTheKeptAnswers) {
  const BenchmarkPair pair = load_pair(kBoardPair);
  const EvaluationRecord direct = evaluate_and_record({}, pair, testing::StayPut(), {});
  testing::make_whole_submission(folder());
  const RunResult kept = check().results[0];
  for (const char* name : {"shape_score", "sampled_conditional_shape_score"}) {
    EXPECT_EQ(kept.find(name)->mean, direct.evaluation.mean(name));
  }
  EXPECT_NE(kept.find("conditional_shape_score")->mean,
            direct.evaluation.mean("conditional_shape_score"));
}

TEST_F(SubmissionTest, TakesMorePairsAndTrainingsAndReplacesTheSame) {
  testing::make_whole_submission(folder());
  testing::make_submission(folder(), "", testing::StayPut(), 3);
  testing::make_submission(folder(), "Mine", *load_pair(kBoardPair).truth({}), 3);  // replaced
  const SubmissionCheck good = check();
  EXPECT_THAT(good.refusals, IsEmpty());
  ASSERT_EQ(good.results.size(), 2u);
  EXPECT_EQ(good.results[1].seed, 3u);
  EXPECT_NE(good.results[1].find("joint_kl"), nullptr);
  EXPECT_EQ(good.solver.authors.size(), 2u);  // as the authors left it
}

TEST_F(SubmissionTest, RefusesWhatDoesNotFitTheFolderBeforeItWrites) {
  const BenchmarkPair pair = load_pair(kBoardPair);
  const testing::StayPut coupling;
  const auto to = [&](const std::string& label) {
    return ScoreDestination{.submission = folder(), .label = label};
  };
  const auto refused = [&](const EvaluationOptions& options, const ScoreDestination& target) {
    try {
      evaluate_to({}, pair, coupling, options, target);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(refused({}, to("")), HasSubstr("label must name the solver"));
  EXPECT_THAT(refused({}, to("two\nlines")), HasSubstr("got 'two\\x0alines'"));
  EXPECT_THAT(refused({.conditional_samples = 5}, to("Mine")),
              HasSubstr("conditional_samples must be the protocol's 1000, got 5"));
  EXPECT_THAT(refused({}, {.submission = folder(), .label = "Mine", .training_seconds = -1.0}),
              HasSubstr("training_seconds"));
  EXPECT_FALSE(std::filesystem::exists(folder()));
  testing::make_submission(folder());
  EXPECT_THAT(refused({}, to("Other")), HasSubstr("label must be 'Mine'"));
  EXPECT_THAT(refused({.seed = 4}, to("Mine")), HasSubstr("seed and num_seeds must be 0"));
  EXPECT_THAT(
      [&] {
        PairSpec spec;
        spec.name = kBoardPair;
        evaluate_to({}, build_pair(spec), coupling, {}, to("Mine"));
      },
      ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("pair must be the preset")));
}

TEST_F(SubmissionTest, RefusesStalePairsByBothFingerprints) {
  testing::make_whole_submission(folder());
  const std::string own = check().solver.predictions[0].fingerprint;
  replace_in_file(folder() / kSolverFile, own, "0123456789abcdef");
  EXPECT_THAT(check().refusals, ElementsAre(AllOf(HasSubstr("stale"), HasSubstr(own),
                                                  HasSubstr("0123456789abcdef"))));
}

TEST_F(SubmissionTest, RefusesClaimsThatTheAnswersDoNotHave) {
  testing::make_whole_submission(folder());
  const std::vector<RunResult> honest = load_results(folder() / kResultsJsonl);
  std::vector<RunResult> claims = honest;
  for (Score& score : claims[0].scores) {
    if (score.name == "shape_score") score.mean += 2e-6;
    if (score.name == "joint_kl") score.mean = 0.0;
  }
  write_results(claims, folder());
  EXPECT_THAT(check().refusals,
              ElementsAre(AllOf(HasSubstr("tampered"), HasSubstr("shape_score is claimed to be")),
                          HasSubstr("joint_kl is claimed to be 0, found nothing")));
  claims = honest;
  claims[0].scores[0].mean += 1e-9;  // another machine's last digits
  write_results(claims, folder());
  EXPECT_THAT(check().refusals, IsEmpty());
  claims[0].scores.pop_back();
  write_results(claims, folder());
  EXPECT_THAT(check().refusals, ElementsAre(HasSubstr("is not claimed, found")));
  claims = honest;
  claims[0].seed = 9;
  write_results(claims, folder());
  EXPECT_THAT(check().refusals, ElementsAre(HasSubstr("claims no scores of")));
  claims = honest;
  claims[0].method = "Other";
  write_results(claims, folder());
  EXPECT_THAT(check().refusals, ElementsAre(HasSubstr("is of 'Other', but solver.toml is of")));
}

TEST_F(SubmissionTest, RefusesAnswersThatWereChanged) {
  testing::make_whole_submission(folder());
  set_states("pred_conditional_x1.npy", 20000, 49);
  EXPECT_THAT(check().refusals,
              ElementsAre(AllOf(HasSubstr("pred_conditional_x1.npy: tampered: its sha256 is"),
                                HasSubstr("but solver.toml says"))));
  // Whoever changes the hash as well is found out by the scores.
  testing::renew_hash(folder(), "pred_conditional_x1.npy");
  EXPECT_THAT(check().refusals, ::testing::Contains(HasSubstr("conditional_shape_score")));
}

TEST_F(SubmissionTest, RefusesMisshapenAnswers) {
  testing::make_whole_submission(folder());
  set_states("pred_x1.npy", 1, 50);  // of 0..49
  testing::renew_hash(folder(), "pred_x1.npy");
  EXPECT_THAT(check().refusals, ElementsAre(AllOf(HasSubstr("pred_x1.npy"), HasSubstr("50"))));
  const std::vector<std::int32_t> few(40, 1);
  save_npy(answers() / "pred_x1.npy", {20, 2}, std::span<const std::int32_t>(few));
  testing::renew_hash(folder(), "pred_x1.npy");
  EXPECT_THAT(check().refusals, ElementsAre(HasSubstr("expected shape [20000, 2], found [20, 2]")));
  std::filesystem::remove(answers() / "pred_x1.npy");
  EXPECT_THAT(check().refusals, ElementsAre(HasSubstr("pred_x1.npy")));
}

// Certain of all rows but one; also where its makers say so of themselves. A board has nothing of
// it, and nothing is kept of answers that are refused.
TEST_F(SubmissionTest, RefusesProbabilitiesThatBeatTheTruth) {
  EXPECT_THAT([&] { testing::make_submission(folder(), "Mine", testing::StayPut(0.0)); },
              ::testing::ThrowsMessage<InvalidArgument>(
                  AllOf(HasSubstr("log-probabilities must sum to 1"), HasSubstr("joint_kl is -"))));
  EXPECT_FALSE(std::filesystem::exists(answers()));
  testing::make_whole_submission(folder(), "Mine", testing::StayPut(-12.0));
  std::vector<double> log_q(20000, 0.0);
  log_q[7] = -1e6;
  save_npy(answers() / "pred_log_conditional.npy", {log_q.size()}, std::span<const double>(log_q));
  testing::renew_hash(folder(), "pred_log_conditional.npy");
  EXPECT_THAT(check().refusals,
              ElementsAre(AllOf(HasSubstr("impossible: "), HasSubstr("joint_kl is "))));
}

// What a cheat knows: the seed of an evaluation and the test set.
TEST_F(SubmissionTest, RefusesCopiesOfWhatAnswersAreComparedWith) {
  class Copy : public testing::StayPut {
   public:
    explicit Copy(const BenchmarkPair& pair) : pair_(pair), test_(pair.test_set({})) {}
    void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first,
                MutableStatesView x1) const override {
      if (key.purpose == DrawPurpose::kPrediction) {
        std::copy_n(test_.x1.row(first), x1.size(), x1.data);
      } else {
        pair_.truth(context)->sample(context, x0, {key.seed, DrawPurpose::kTruthSample}, first, x1);
      }
    }

   private:
    const BenchmarkPair& pair_;
    PairedStates test_;
  };
  const BenchmarkPair pair = load_pair(kBoardPair);
  testing::make_whole_submission(folder(), "Mine", Copy(pair));
  const SubmissionCheck found = check();
  EXPECT_THAT(
      found.refusals,
      ElementsAre(HasSubstr("impossible: shape_score is 1.0000, where draws of the truth"),
                  HasSubstr("impossible: trend_score is 1.0000, where draws of the truth")));
  EXPECT_LT(found.results[0].find("conditional_shape_score")->mean, 0.96);
}

TEST_F(SubmissionTest, RefusesJointProbabilitiesWithoutThoseOfTheAnswers) {
  testing::make_whole_submission(folder(), "Mine", testing::StayPut(-12.0));
  const std::string text = testing::slurp(folder() / kSolverFile);
  const std::size_t at = text.find("\"pred_log_answers.npy\"");
  replace_in_file(folder() / kSolverFile, text.substr(at, text.find('\n', at) + 1 - at), "");
  std::filesystem::remove(answers() / "pred_log_answers.npy");
  EXPECT_THAT(check().refusals,
              ElementsAre(HasSubstr("pred_log_conditional.npy needs pred_log_answers.npy")));
}

TEST_F(SubmissionTest, RefusesMarginalsThatTheDrawsDoNotHave) {
  using Marginals = testing::StayPut::Marginals;
  const double unsaid = std::nan("");
  testing::make_whole_submission(folder(), "Mine", testing::StayPut(unsaid, Marginals::kTrue));
  EXPECT_THAT(check().refusals, IsEmpty());
  testing::make_submission(folder(), "Mine", testing::StayPut(unsaid, Marginals::kUniform));
  EXPECT_THAT(check().refusals,
              ElementsAre(AllOf(HasSubstr("impossible: pred_log_marginals.npy overlaps with"),
                                HasSubstr("by 0.0200, where its own draws would by 0.9"))));
}

// The truth's own marginals and draws: a false alarm once in ten million pairs.
TEST_F(SubmissionTest, TakesTheMarginalsOfASolverThatKnowsThem) {
  const BenchmarkPair pair = load_pair(kBoardPair);
  testing::make_submission(folder(), "Mine", *pair.truth({}));
  testing::fill_blanks(folder());
  EXPECT_THAT(check().refusals, IsEmpty());
}

TEST_F(SubmissionTest, RefusesFilesThatNobodyNamed) {
  testing::make_whole_submission(folder());
  std::ofstream(folder() / "README.md") << "welcome";
  std::ofstream(folder() / "setup.py") << "import os";
  std::ofstream(answers() / "more.npy") << "x";
  EXPECT_THAT(check().refusals,
              ElementsAre(HasSubstr("holds 'setup.py'"), HasSubstr("holds 'more.npy'")));
  std::filesystem::remove(folder() / "setup.py");
  std::filesystem::remove(answers() / "more.npy");
  std::filesystem::rename(answers() / "pred_x1.npy", dir_.path() / "elsewhere.npy");
  std::filesystem::create_symlink(dir_.path() / "elsewhere.npy", answers() / "pred_x1.npy");
  EXPECT_THAT(check().refusals, ElementsAre(HasSubstr("has a link 'pred_x1.npy'")));
}

TEST_F(SubmissionTest, RefusesTheNamesOfOurOwn) {
  EXPECT_THAT([&] { testing::make_submission(folder(), "0racle"); },
              ::testing::ThrowsMessage<InvalidArgument>(HasSubstr(
                  "label must look like none of Bridgemark's own solvers, got '0racle', which "
                  "looks like 'Oracle'")));
  EXPECT_FALSE(std::filesystem::exists(folder()));
  testing::make_whole_submission(folder());
  for (const char* of_method : {kResultsJsonl, kResultsCsv}) {
    const std::filesystem::path path = folder() / of_method;
    for (std::string text = testing::slurp(path); text.find("Mine") != text.npos;
         text = testing::slurp(path)) {
      replace_in_file(path, "Mine", "0racle");
    }
  }
  replace_in_file(folder() / kSolverFile, "name = \"Mine\"", "name = \"0racle\"");
  EXPECT_THAT(
      check().refusals,
      ElementsAre(HasSubstr("must look like none of Bridgemark's own solvers, got '0racle', "
                            "which looks like 'Oracle'")));
  const std::string mine = "name = \"0racle\"", file = (folder() / kSolverFile).string();
  replace_in_file(file, mine, "name = \"Mine\\u200b\"");
  EXPECT_THAT(check().refusals, Contains(HasSubstr("invisible")));
}

TEST_F(SubmissionTest, RefusesAReversedPairUnderTheForwardName) {
  PairSpec spec = *find_preset(kBoardPair);
  spec.reverse = true;
  EXPECT_THAT(
      [&] {
        evaluate_to({}, build_pair(spec), testing::StayPut(), {},
                    {.submission = folder(), .label = "Mine"});
      },
      ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("pair must be the preset")));
  BenchmarkPair other = load_pair(kBoardPair);  // with a test set of one's own
  other.store_test_set(other.sample_joint({}, 300, 1));
  EXPECT_THAT(
      [&] {
        evaluate_to({}, other, testing::StayPut(), {}, {.submission = folder(), .label = "Mine"});
      },
      ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("pair must be the preset")));
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(SubmissionTest, RefusesFilesThatAreNotWhatTheyAreCalled) {
  testing::make_whole_submission(folder());
  std::filesystem::create_directory(folder() / "README.md");
  EXPECT_THAT(check().refusals, ElementsAre(HasSubstr("has a folder 'README.md'")));
  std::filesystem::remove(folder() / "README.md");
  replace_in_file(folder() / kResultsCsv, "shape_score", "shape_scor3");
  EXPECT_THAT(check().refusals,
              ElementsAre(HasSubstr("results.csv: tampered: it does not say what results.jsonl")));
  std::filesystem::remove(folder() / kResultsCsv);
  std::filesystem::resize_file(answers() / "pred_x1.npy", std::uintmax_t{200} << 30);  // sparse
  EXPECT_THAT(check().refusals, ElementsAre(HasSubstr("pred_x1.npy: expected at most")));
}

TEST_F(SubmissionTest, RefusesTwoClaimsOfOneSetOfAnswers) {
  testing::make_whole_submission(folder());
  std::vector<RunResult> claims = load_results(folder() / kResultsJsonl);
  claims.push_back(claims[0]);
  claims[1].run += ".again";
  write_results(claims, folder());
  EXPECT_THAT(
      check().refusals,
      ::testing::Contains(HasSubstr("claims scores of 'd2-gaussian-0.02-spread.seed0' twice")));
}

TEST_F(SubmissionTest, AreFoundInAFolderOfThem) {
  testing::make_whole_submission(dir_.path() / "b");
  testing::make_whole_submission(dir_.path() / "a");
  std::filesystem::create_directory(dir_.path() / "c");
  EXPECT_THAT(find_submissions(dir_.path()), ElementsAre(dir_.path() / "a", dir_.path() / "b"));
  EXPECT_THAT(find_submissions(dir_.path() / "a"), ElementsAre(dir_.path() / "a"));
  EXPECT_THROW(find_submissions(dir_.path() / "c"), FileError);
  EXPECT_THROW(find_submissions(dir_.path() / "none"), FileError);
}

}  // namespace
}  // namespace bridgemark
