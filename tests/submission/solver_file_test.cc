#include "bridgemark/submission/solver_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/submission/submission_layout.h"
#include "tests/submission/submission_testing.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kWhole[] = R"(format = 1
name = "Mine"
authors = ["A. Author"]
revision = "4f2c1d0"
description = "What it does."
date = 2026-11-16
[recipe]
command = "make"
updates = 100
hardware = "two cores"
[evaluation]
seed = 0
seeds = 3
# A note of the authors.

[[predictions]]
pair = "d2-gaussian-0.02-spread"
fingerprint = "0123456789abcdef"
training_seed = 7
training_seconds = 2
[predictions.sha256]
"pred_x1.npy" = "00000000000000000000000000000000000000000000000000000000000000aa"
"pred_conditional_x1.npy" = "00000000000000000000000000000000000000000000000000000000000000bb"
)";

class SolverFileTest : public ::testing::Test {
 protected:
  SolverFile load(const std::string& text, Blanks blanks = Blanks::kRefused) const {
    std::ofstream(dir_.path() / kSolverFile, std::ios::binary) << text;
    return load_solver_file(dir_.path(), blanks);
  }

  // The refusal of the whole file with one text in place of another.
  std::string refusal(const std::string& from, const std::string& to) const {
    std::string text = kWhole;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
    try {
      load(text);
    } catch (const FileError& error) {
      const std::string message = error.what(), file = (dir_.path() / kSolverFile).string() + ": ";
      EXPECT_THAT(message, StartsWith(file));
      EXPECT_EQ(message.find('\n'), message.npos);
      return message.substr(file.size());
    }
    return "nothing was thrown";
  }

  testing::TempDir dir_;
};

TEST_F(SolverFileTest, IsReadAsItIsWritten) {
  const SolverFile solver = load(kWhole);
  EXPECT_EQ(solver.name, "Mine");
  EXPECT_EQ(solver.authors, std::vector<std::string>{"A. Author"});
  EXPECT_EQ(solver.url, "");
  EXPECT_EQ(solver.date, "2026-11-16");
  EXPECT_EQ(solver.updates, 100);
  EXPECT_EQ(solver.evaluation_seeds, 3);
  ASSERT_EQ(solver.predictions.size(), 1u);
  EXPECT_EQ(solver.predictions[0].training_seed, 7u);
  EXPECT_EQ(solver.predictions[0].training_seconds, 2.0);
  EXPECT_EQ(solver.predictions[0].sha256.at("pred_x1.npy").substr(62), "aa");
}

TEST_F(SolverFileTest, NewPredictionsLeaveWhatTheAuthorsWrote) {
  SolverFile solver = load(kWhole);
  const std::string before = kWhole;
  solver.predictions[0].training_seconds = 0.1;
  solver.predictions.push_back(solver.predictions[0]);
  solver.predictions[1].training_seed = 8;
  solver.predictions[1].rows = {500, 3};
  const std::string after = with_predictions(before, solver.predictions);
  const std::size_t start = before.find("[[predictions]]");
  EXPECT_EQ(after.substr(0, start), before.substr(0, start));
  const SolverFile again = load(after);
  ASSERT_EQ(again.predictions.size(), 2u);
  EXPECT_EQ(again.predictions[0].training_seconds, 0.1);
  EXPECT_EQ(again.predictions[1].training_seed, 8u);
  EXPECT_EQ(again.predictions[0].rows, TrainingRows{});
  EXPECT_EQ(again.predictions[1].rows, (TrainingRows{500, 3}));
  EXPECT_TRUE(answers_folder(again.predictions[1]).ends_with(".n500.set3.seed8"));
  EXPECT_EQ(with_predictions(after, again.predictions), after);
}

TEST_F(SolverFileTest, ANewOneHasBlanksToFill) {
  const std::string name = "a \"quoted\" name \\ é";
  const std::string text = new_solver_file(name, 5, 2);
  const SolverFile solver = load(text, Blanks::kAllowed);
  EXPECT_EQ(solver.name, name);
  EXPECT_EQ(solver.evaluation_seed, 5u);
  EXPECT_EQ(solver.evaluation_seeds, 2);
  EXPECT_THROW(load(text), FileError);
}

TEST_F(SolverFileTest, RefusesWithTheLineAndWhatIsAllowed) {
  EXPECT_THAT(refusal("format = 1", "format = 2"),
              AllOf(HasSubstr("line 1: 'format' must be"), HasSubstr("1..1, got 2")));
  EXPECT_EQ(refusal("\"Mine\"", "\"\""),
            "line 2: 'name' must be 1 to 80 bytes of one line, got ''");
  EXPECT_THAT(refusal("\"Mine\"", "\"two\\nlines\""), HasSubstr("got 'two\\x0alines'"));
  EXPECT_THAT(refusal("\"Mine\"", "\"\\u001b[31m\""), HasSubstr("one line, got '\\x1b[31m'"));
  EXPECT_THAT(refusal("\"Mine\"", "\"" + std::string(81, 'x') + "\""), HasSubstr("1 to 80 bytes"));
  EXPECT_EQ(refusal("[\"A. Author\"]", "\"A. Author\""),
            "line 3: 'authors' must be a list with at least one name, got text");
  EXPECT_THAT(refusal("revision = \"4f2c1d0\"", "revision = 4"),
              HasSubstr("line 4: 'revision' must be text in quotes, got a whole number"));
  EXPECT_THAT(refusal("revision = \"4f2c1d0\"", ""), HasSubstr("must have 'revision'"));
  EXPECT_THAT(refusal("description", "url = \"javascript:alert(1)\"\ndescription"),
              HasSubstr("line 5: 'url' must be empty or start with https://, got 'javascript:"));
  EXPECT_THAT(refusal("description", "object = \"os; rm\"\ndescription"),
              HasSubstr("line 5: 'object' must be empty or a Python object package.module:Name"));
  EXPECT_EQ(refusal("2026-11-16", "\"today\""),
            "line 6: 'date' must be a date like 2026-11-16, without quotes, got text");
  EXPECT_THAT(refusal("updates = 100", "updates = -1"), HasSubstr("line 9: 'updates'"));
  EXPECT_THAT(refusal("seeds = 3", "seeds = 101"), HasSubstr("line 13: 'seeds'"));
  EXPECT_THAT(refusal("hardware", "hardwear"), HasSubstr("did you mean 'hardware'?"));
  EXPECT_THAT(refusal("gaussian-0.02-spread", "gaussian-0.02-spred"),
              AllOf(HasSubstr("line 17: 'pair' must be a preset"),
                    HasSubstr("the nearest is d2-gaussian-0.02-spread")));
  EXPECT_THAT(refusal("\"d2-gaussian-0.02-spread\"", "\"../../etc\""),
              HasSubstr("got '../../etc'"));
  EXPECT_THAT(refusal("0123456789abcdef", "0123"),
              HasSubstr("line 18: 'fingerprint' must be 16 hexadecimal digits, got '0123'"));
  EXPECT_THAT(refusal("training_seconds = 2", "training_seconds = nan"),
              HasSubstr("line 20: 'training_seconds' must be a number"));
  EXPECT_THAT(refusal("\"pred_x1.npy\"", "\"../solver.toml\""), HasSubstr("unknown key"));
  EXPECT_THAT(refusal("\"pred_x1.npy\"", "\"pred_log_marginals.npy\""),
              HasSubstr("must have 'pred_x1.npy'"));
}

TEST_F(SolverFileTest, RefusesTheSameAnswersTwice) {
  const SolverFile solver = load(kWhole);
  const std::vector<SubmittedAnswers> twice(2, solver.predictions[0]);
  EXPECT_THAT([&] { load(with_predictions(kWhole, twice)); },
              ::testing::ThrowsMessage<FileError>(
                  HasSubstr("there are two [[predictions]] of d2-gaussian-0.02-spread.seed7")));
}

}  // namespace
}  // namespace bridgemark
