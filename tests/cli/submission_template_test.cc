#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bridgemark/submission/solver_file.h"
#include "tests/cli/run_program.h"

// solver.toml of a submission of a run: what the run knows is filled in, and all that is wrong or
// missing is said at once.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::expect_success;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_program;
using testing::slurp;

class SubmissionTemplate : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }

  // Lines of the check that refuses the folder.
  std::size_t refusals(std::string& text) const {
    const ProgramRun run = run_program({"check-submission", path("mine")});
    EXPECT_EQ(run.status, 2) << run.out;
    text = run.err;
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  void replace(const std::string& file, const std::string& old_text, const std::string& new_text) {
    std::string text = slurp(path(file));
    const std::size_t at = text.find(old_text);
    ASSERT_NE(at, std::string::npos) << text;
    testing::put(path(file), text.replace(at, old_text.size(), new_text));
  }

  testing::TempDir dir_;
};

TEST_F(SubmissionTemplate, HasWhatTheRunKnowsAndEveryFaultHasItsLine) {
  const std::string pair = "d2-uniform-0.01", file = "mine/solver.toml";
  expect_success({"train", "dlightsb", "--pair", pair, "-o", path("run"), "--set", "components=4",
                  "--set", "updates=20"});
  expect_success(
      {"evaluate", pair, "--run", path("run"), "--label", "Mine", "--submission", path("mine")});
  const SolverFile solver = load_solver_file(dir_.path() / "mine", Blanks::kAllowed);
  EXPECT_EQ(solver.updates, 20);
  EXPECT_THAT(solver.command, AllOf(HasSubstr("bridgemark train dlightsb --pair " + pair),
                                    HasSubstr("--set components=4")));
  EXPECT_THAT(solver.revision, HasSubstr("bridgemark "));
  EXPECT_EQ(solver.date.size(), 10u);
  EXPECT_FALSE(solver.hardware.empty());

  std::string text;
  EXPECT_EQ(refusals(text), 1u) << text;
  EXPECT_THAT(text, HasSubstr("'authors' must be"));

  replace(file, "description = \"", "description = \"\" # ");
  replace(file, "hardware = \"", "hardware = \"\" # ");
  replace(file, "date = ", "date = \"\" # ");
  replace("mine/results.jsonl", "\"method\"", "\"method_\"");
  EXPECT_GE(refusals(text), 5u) << text;
  for (const char* what : {"'authors'", "'description'", "'hardware'", "'date'", "results.jsonl"}) {
    EXPECT_THAT(text, HasSubstr(what));
  }
}

}  // namespace
}  // namespace bridgemark
