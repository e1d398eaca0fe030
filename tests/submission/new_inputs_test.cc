#include "bridgemark/submission/new_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/npy.h"
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

constexpr std::uint64_t kAsked = 7;

// Draws like the truth, but leaves a share of the rows where they are; states the truth's
// probabilities, less so many nats, where it is asked to.
class NearlyTruth : public testing::StayPut {
 public:
  explicit NearlyTruth(const BenchmarkPair& pair, double share = 0.0,
                       std::optional<double> nats = {})
      : truth_(pair.truth({})), share_(share), nats_(nats) {}

  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first,
              MutableStatesView x1) const override {
    truth_->sample(context, x0, key, first, x1);
    for (std::size_t i = 0; i < x0.rows; ++i) {
      const double drawn = draw_uniform({key.seed, DrawPurpose::kShuffle}, first + i, 0);
      if (drawn < share_) std::copy_n(x0.row(i), x0.cols, x1.row(i));
    }
  }
  bool has_joint() const override { return nats_.has_value(); }
  void log_conditional(const Context& context, StatesView x0, StatesView x1,
                       std::span<double> out) const override {
    truth_->log_conditional(context, x0, x1, out);
    for (double& value : out) value -= *nats_;
  }

 private:
  std::shared_ptr<const Coupling> truth_;
  double share_;
  std::optional<double> nats_;
};

class NewInputs : public ::testing::Test {
 protected:
  std::filesystem::path mine() const { return dir_.path() / "mine"; }
  std::filesystem::path asked() const { return dir_.path() / "new"; }
  std::filesystem::path kit() const { return asked() / kBoardAnswers; }

  // What the check says of answers to new inputs of a submission by one solver, made by another.
  std::vector<std::string> judge(const Coupling& submitted, const Coupling& answering) const {
    testing::make_whole_submission(mine(), "Mine", submitted);
    const SubmissionCheck good = check_submission({}, mine());
    EXPECT_THAT(good.refusals, IsEmpty());
    EXPECT_THAT(write_new_inputs({}, good.solver, kAsked, asked()), ElementsAre(kit()));
    evaluate_to({}, pair_, answering, {}, {.answer = kit()});
    return judge_new_answers({}, mine(), good.solver, kAsked, asked());
  }

  std::vector<std::string> judge_again() const {
    return judge_new_answers({}, mine(), load_solver_file(mine(), Blanks::kRefused), kAsked,
                             asked());
  }

  testing::TempDir dir_;
  BenchmarkPair pair_ = load_pair(kBoardPair);
};

TEST_F(NewInputs, AreAnsweredByTheSolverOfTheSubmission) {
  EXPECT_THAT(judge(NearlyTruth(pair_, 0.0, 0.0), NearlyTruth(pair_, 0.0, 0.0)), IsEmpty());
}

// A fifth of the rows of a solver that leaves its submission's quality behind.
TEST_F(NewInputs, FindOutWhoDrawsWorseThanTheSubmission) {
  EXPECT_THAT(judge(NearlyTruth(pair_), NearlyTruth(pair_, 0.2)),
              ElementsAre(AllOf(HasSubstr(kBoardAnswers),
                                HasSubstr("not of the solver of the submission: the shape score")),
                          HasSubstr("the truth's probability of an answer")));
}

// And states of the new ones less than it could: of its answers too little.
TEST_F(NewInputs, FindOutWhoKnowsTheTestRowsAlone) {
  EXPECT_THAT(judge(NearlyTruth(pair_, 0.0, 0.0), NearlyTruth(pair_, 0.0, 0.05)),
              ElementsAre(HasSubstr("impossible: pred_log_answers.npy is not of the solver"),
                          HasSubstr("log q* - log q of a test row of one of its inputs is above")));
  evaluate_to({}, pair_, NearlyTruth(pair_), {}, {.answer = kit()});  // no probabilities any more
  EXPECT_THAT(judge_again(), ElementsAre(HasSubstr("pred_log_answers.npy: expected a file")));
}

TEST_F(NewInputs, DependOnTheSeedAndOnTheAnswers) {
  SubmittedAnswers answers;
  answers.pair = kBoardPair;
  answers.sha256["pred_x1.npy"] = "12";
  SubmittedAnswers others = answers;
  others.sha256["pred_x1.npy"] = "13";
  const auto inputs = [](const SubmittedAnswers& of, std::uint64_t seed) {
    return pair_with_new_inputs({}, of, seed).test_set({}).x0;
  };
  EXPECT_EQ(inputs(answers, 1), inputs(answers, 1));
  EXPECT_NE(inputs(answers, 1), inputs(answers, 2));
  EXPECT_NE(inputs(answers, 1), inputs(others, 1));
  EXPECT_NE(inputs(answers, 0), pair_.test_set({}).x0);
}

TEST_F(NewInputs, AnswersToOthersAreRefused) {
  judge(NearlyTruth(pair_), NearlyTruth(pair_));
  const SolverFile solver = load_solver_file(mine(), Blanks::kRefused);
  EXPECT_THAT(judge_new_answers({}, mine(), solver, kAsked + 1, asked()),
              ElementsAre(HasSubstr("holds new inputs of another seed than")));
  std::filesystem::remove(kit() / "test_x0.npy");  // answers alone
  EXPECT_THAT(judge_new_answers({}, mine(), solver, kAsked + 1, asked()),
              Contains(HasSubstr("not of the solver of the submission")));
  std::filesystem::resize_file(kit() / "pred_x1.npy", std::uintmax_t{200} << 30);  // sparse
  EXPECT_THAT(judge_again(), ElementsAre(HasSubstr("pred_x1.npy: expected at most")));
  save_npy(kit() / "pred_x1.npy", {20, 2},
           std::span<const std::int32_t>(std::vector<std::int32_t>(40, 1)));
  EXPECT_THAT(judge_again(), ElementsAre(HasSubstr("expected shape [20000, 2], found [20, 2]")));
  std::filesystem::remove_all(asked());
  EXPECT_THAT(judge_again(), ElementsAre(HasSubstr("expected a file")));
}

TEST_F(NewInputs, AKitIsOfThePairThatAnswers) {
  const auto refused = [&](const std::string& says) {
    EXPECT_THAT([&] { pair_of_kit(pair_, dir_.path()); },
                ::testing::ThrowsMessage<FileError>(HasSubstr(says)));
  };
  refused("test_x0.npy");
  const std::vector<std::int32_t> few(40, 50), good(40, 3);
  save_npy(dir_.path() / "test_x0.npy", {20, 2}, std::span<const std::int32_t>(few));
  refused("50");
  save_npy(dir_.path() / "test_x0.npy", {20, 2}, std::span<const std::int32_t>(good));
  refused("test_x0.npy: expected 20000 rows, found 20");
}

}  // namespace
}  // namespace bridgemark
