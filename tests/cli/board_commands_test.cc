#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_program.h"
#include "tests/submission/submission_testing.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::expect_success;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_program;
using ::testing::StartsWith;

const std::filesystem::path kExample = testing::source_tree() / "examples/submission";

class BoardCommands : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }

  // A copy of the example, to be spoilt.
  std::string copy_of_example() const {
    std::filesystem::copy(kExample, path("copy"), std::filesystem::copy_options::recursive);
    return path("copy");
  }

  testing::TempDir dir_;
};

// Fails where a pair of the board is made otherwise than when the example was: then every
// submission is stale.
TEST_F(BoardCommands, TheExampleIsGood) {
  const auto before = testing::files_below(kExample);
  const std::string out = expect_success({"check-submission", kExample.string()});
  EXPECT_THAT(out, AllOf(StartsWith("Copycat of "), HasSubstr("d2-gaussian-0.02-spread"),
                         HasSubstr("conditional_shape_score")));
  EXPECT_EQ(testing::files_below(kExample), before);
  const std::string json = expect_success({"check-submission", kExample.string(), "--json"});
  EXPECT_EQ(nlohmann::json::parse(json)["runs"].size(), 1u);
}

TEST_F(BoardCommands, CheckWritesWhatItFoundWhereAskedTo) {
  expect_success({"check-submission", kExample.string(), "-o", path("found")});
  const std::vector<RunResult> found = load_results(path("found") + "/results.jsonl");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].method, "Copycat");
}

TEST_F(BoardCommands, ALineForEachRefusalAndStatusTwo) {
  const std::string copy = copy_of_example();
  std::ofstream(copy + "/more.txt") << "x";
  testing::replace_in_file(copy + "/results.jsonl", "\"shape_score\":0.", "\"shape_score\":0.9");
  const ProgramRun run = run_program({"check-submission", copy, "-o", path("found")});
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 3) << run.err;  // results.csv, too
  EXPECT_THAT(run.err, AllOf(StartsWith("bridgemark: "), HasSubstr("holds 'more.txt'"),
                             HasSubstr("tampered: ")));
  EXPECT_FALSE(std::filesystem::exists(path("found")));
}

TEST_F(BoardCommands, EvaluateMakesASubmission) {
  expect_success(
      {"train", "feature-wise", "--pair", testing::kBoardPair, "--seed", "3", "-o", path("run")});
  const std::string submission = path("mine");
  expect_success({"evaluate", testing::kBoardPair, "--run", path("run"), "--label", "Mine",
                  "--submission", submission});
  testing::fill_authors(submission);
  EXPECT_THAT(expect_success({"check-submission", submission}), HasSubstr("Mine of A. Author"));
  const SubmissionCheck check = check_submission({}, submission);
  EXPECT_EQ(check.results.at(0).seed, 3u);  // the run's own
  EXPECT_NE(check.results[0].find("joint_kl"), nullptr);
  const ProgramRun no_seconds =
      run_program({"evaluate", testing::kBoardPair, "--predictions",
                   submission + "/d2-gaussian-0.02-spread.seed3", "--submission", submission});
  EXPECT_EQ(no_seconds.status, 2);
  EXPECT_THAT(no_seconds.err, HasSubstr("--submission needs --training-seconds of --predictions"));
}

TEST_F(BoardCommands, BoardIsBuiltOfSubmissions) {
  const std::string out =
      expect_success({"board", "--submissions", kExample.string(), "-o", path("board")});
  EXPECT_THAT(out, AllOf(StartsWith("1 run of 1 folder, 0 left out"), HasSubstr("index.html")));
  for (const char* name : {"index.html", "board.json", "board.csv"}) {
    EXPECT_TRUE(std::filesystem::exists(path("board") + "/" + name)) << name;
  }
}

TEST_F(BoardCommands, BoardRefusesInOneLineAndWritesNothing) {
  const std::string copy = copy_of_example();
  std::ofstream(copy + "/more.txt") << "x";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"board", "--submissions", copy, "-o", path("board")},
        {"board", path("none"), "-o", path("board")},
        {"board", "-o", path("board")}}) {
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_FALSE(std::filesystem::exists(path("board")));
  }
}

// From the question to the answer, by a run that is the submission's solver and by another one.
TEST_F(BoardCommands, NewInputsAreAskedForAndAnswered) {
  const std::string pair = testing::kBoardPair, kit = path("new/" + pair + ".seed0");
  for (const std::string solver : {"independent", "reference"}) {
    expect_success({"train", solver, "--pair", pair, "-o", path(solver)});
  }
  expect_success({"evaluate", pair, "--run", path("independent"), "--label", "Mine", "--submission",
                  path("mine")});
  testing::fill_authors(path("mine"));
  const auto check = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"check-submission", path("mine")});
    return run_program(more);
  };
  EXPECT_THAT(check({"--ask", path("new"), "--seed", "7"}).err,
              HasSubstr(kit + ": new inputs, to be answered like a kit"));
  expect_success({"evaluate", pair, "--run", path("independent"), "--answer", kit});
  const ProgramRun good = check({"--answers", path("new"), "--seed", "7"});
  EXPECT_EQ(good.status, 0);
  EXPECT_THAT(good.out, HasSubstr("new to the inputs of seed 7 agree with the submission"));
  EXPECT_THAT(good.out, HasSubstr(pair + ".seed0: 20000 new test inputs and 157 conditional ones, "
                                         "draws"));
  const ProgramRun other_seed = check({"--answers", path("new"), "--seed", "9"});
  EXPECT_EQ(other_seed.status, 2);
  EXPECT_THAT(other_seed.err, HasSubstr("holds new inputs of another seed than 9"));
  expect_success({"evaluate", pair, "--run", path("reference"), "--answer", kit});
  const ProgramRun other = check({"--answers", path("new"), "--seed", "7"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("not of the solver of the submission"));
}

}  // namespace
}  // namespace bridgemark
