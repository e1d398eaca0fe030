#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "bridgemark/io/npy.h"
#include "bridgemark/pair/pair_folder.h"
#include "tests/cli/run_program.h"
#include "tests/support/small_pair.h"

// The commands run and report, from the outside.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::expect_success;
using testing::files_below;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_program;
using testing::slurp;
using testing::TempDir;

class ExperimentCommands : public ::testing::Test {
 protected:
  ExperimentCommands() {
    write_pair_folder({}, testing::pair_with_test_set(testing::small_spec(), 200), path("pair"));
    write("x.toml", "name = 'x'\n[evaluation]\nseeds = 2\ntrajectories = 20\n[[grid]]\npairs = ['" +
                        path("pair") + "']\nsolvers = ['oracle', 'reference']\nseeds = [0, 1]\n");
  }

  std::string path(const std::string& name) const { return (temp_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }

  TempDir temp_;
};

TEST_F(ExperimentCommands, RunThenReport) {
  EXPECT_THAT(expect_success({"run", path("x.toml"), "-o", path("out"), "--dry-run"}),
              AllOf(HasSubstr("pair.reference.seed1\n  bridgemark train reference --pair "),
                    HasSubstr("--seed 2 --seeds 2 --num-steps 16 --trajectories 20 "
                              "--conditional-samples 1000 --particles 256 --json")));
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  EXPECT_THAT(expect_success({"run", path("x.toml"), "-o", path("out")}),
              HasSubstr("x: 4 of 4 runs done"));
  const auto again = nlohmann::json::parse(
      expect_success({"run", path("x.toml"), "-o", path("out"), "--resume", "--json"}));
  EXPECT_EQ(again["skipped"], 4);
  EXPECT_EQ(again["failed"].size(), 0u);

  const std::string shown =
      expect_success({"report", path("out"), "-o", path("tables/report.html"), "--tables-only"});
  EXPECT_THAT(shown, AllOf(HasSubstr("Conditional shape score (higher is better)"),
                           HasSubstr("Oracle"), HasSubstr("tables.md")));
  for (const char* name : {"tables/tables.md", "tables/tables.tex", "tables/tables.csv"}) {
    EXPECT_GT(slurp(path(name)).size(), 500u) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(path("tables/report.html")));
  expect_success({"report", path("out"), "--brief"});  // as `run` says it
  EXPECT_TRUE(std::filesystem::exists(path("out/report.html")));
  EXPECT_THAT(expect_success({"report", path("out"), "-o", path("tables/report.html"),
                              "--tables-only", "--brief"}),
              AllOf(Not(HasSubstr("higher is better")), HasSubstr("tables.md")));
}

// An outside solver is in the experiment's tables, also after the experiment goes on.
TEST_F(ExperimentCommands, AnswersAreAddedToAnExperiment) {
  expect_success({"run", path("x.toml"), "-o", path("out"), "--only", "oracle"});
  std::filesystem::create_directory(path("answers"));
  const std::vector<std::int32_t> states(2 * 1000 * 2, 1);
  save_npy(path("answers/pred_x1.npy"), {200, 2}, std::span(states).first(400));
  save_npy(path("answers/pred_conditional_x1.npy"), {2, 1000, 2}, std::span(states));
  EXPECT_THAT(expect_success({"evaluate", path("pair"), "--predictions", path("answers"), "--label",
                              "Constant, one", "--add-to", path("out")}),
              HasSubstr("Constant, one on small (1 seed)"));
  expect_success({"run", path("x.toml"), "-o", path("out"), "--resume"});
  EXPECT_THAT(expect_success({"report", path("out"), "-o", path("tables/r.html"), "--tables-only"}),
              AllOf(HasSubstr("Constant, one"), HasSubstr("Oracle"), HasSubstr("Reference")));
  EXPECT_THAT(slurp(path("tables/tables.csv")), HasSubstr(",\"Constant, one\",outside,"));
  const ProgramRun refused = run_program(
      {"evaluate", path("pair"), "--predictions", path("answers"), "--add-to", path("out")});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--add-to needs --label NAME"));
}

TEST_F(ExperimentCommands, AFailedRunExitsOne) {
  std::filesystem::create_directories(path("out/runs"));
  write("out/runs/pair.reference.seed1", "in the way");
  const ProgramRun run = run_program({"run", path("x.toml"), "-o", path("out")});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, AllOf(HasSubstr("3 of 4 runs done"),
                             HasSubstr("failed: pair.reference.seed1: ended with status 2")));
}

TEST_F(ExperimentCommands, BadInputIsOneLineAndLeavesNothing) {
  write("bad.toml", "name = 'x'\n[[grid]]\npairs = ['d2-gaussian-0.02']\nsolver = ['oracle']\n");
  const auto before = files_below(temp_.path());
  const auto refuses = [&](const std::vector<std::string>& arguments, const std::string& about) {
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 2) << about;
    EXPECT_THAT(run.err, HasSubstr(about));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(files_below(temp_.path()), before);
  };
  refuses({"run", path("bad.toml"), "-o", path("out")},
          "bad.toml: line 4: unknown key 'solver' in [[grid]]; did you mean 'solvers'?");
  refuses({"run", path("none.toml"), "-o", path("out")}, "none.toml");
  refuses({"run", path("x.toml"), "-o", path("out"), "--shard", "3/2"},
          "--shard must be I/N with 1 <= I <= N <= 1048576, got '3/2'");
  refuses({"run", path("x.toml"), "-o", path("out"), "--stale-after", "5"}, "--shard or --slurm");
  refuses({"run", path("x.toml"), "-o", path("out"), "--partition=main"},
          "run has no option '--partition'");
  refuses({"run", path("x.toml"), "-o", path("out"), "--slurm", "--shard", "1/2"}, "--shard");
  refuses({"run", path("x.toml"), "-o", path("out"), "--slurm", "--dry-run"}, "--dry-run");
  refuses({"run", path("x.toml"), "-o", path("out"), "--slurm", "--array=0-3"}, "--array=0-3 is");
  refuses({"run", path("x.toml"), "-o", path("out"), "--runs-per-task", "2"}, "--slurm");
  refuses({"run", path("x.toml"), "-o", path("out"), "--only", "d64"}, "only 'd64' names no run");
  refuses({"run", path("x.toml"), "-o", path("out"), "--jobs", "-1"}, "--jobs");
  refuses({"report", path("none"), "-o", path("r.html")}, "results.jsonl");
}

// The files that come with the program: paper.toml has every cell of the published tables.
TEST(Experiments, OfTheRepositoryAreValid) {
  const std::filesystem::path folder = testing::source_tree() / "experiments";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() == "paper.toml") continue;
    expect_success({"run", entry.path().string(), "-o", "unused", "--dry-run"});
    ++files;
  }
  EXPECT_GE(files, 3u);
  const std::string runs =
      expect_success({"run", (folder / "paper.toml").string(), "-o", "unused", "--dry-run"});
  // The scores of each first training with our recipe: 16 rows of 12 pairs forward, and the same
  // backward but for DLightSB-M's 4.
  std::size_t forward = 0, reversed = 0, oracle = 0;
  std::istringstream lines(runs);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  bridgemark evaluate ")) continue;
    const auto has = [&](const char* text) { return line.find(text) != line.npos; };
    if (!has(".seed0 ") || has("published")) continue;
    ++(has(".oracle.") ? oracle : has("-reverse ") ? reversed : forward);
  }
  EXPECT_EQ(forward, 16u * 12u);
  EXPECT_EQ(reversed, 12u * 12u);
  EXPECT_EQ(oracle, 2u * 12u);
}

}  // namespace
}  // namespace bridgemark
