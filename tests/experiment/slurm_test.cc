#include "bridgemark/experiment/grid/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/grid/slurm_grid.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/pair/pair_folder.h"
#include "tests/io/io_testing.h"
#include "tests/support/places.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(SlurmText, NumbersOfAnArray) {
  EXPECT_THAT(parse_array_indices("7"), ElementsAre(7));
  EXPECT_THAT(parse_array_indices("0-3,9"), ElementsAre(0, 1, 2, 3, 9));
  EXPECT_THAT(parse_array_indices("0-6:3,8%2"), ElementsAre(0, 3, 6, 8));
  for (const char* text : {"", "N/A", "1-", "-2", "a-b", "1-3:0", "99999999999", "1-9999999"}) {
    EXPECT_THAT(parse_array_indices(text), IsEmpty()) << text;
  }
}

TEST(SlurmText, StatesThatEnd) {
  for (const char* state : {"PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED"}) {
    EXPECT_TRUE((SlurmTask{"1", 0, state, ""}.alive())) << state;
  }
  for (const char* state : {"COMPLETED", "FAILED", "NODE_FAIL", "TIMEOUT", "CANCELLED"}) {
    EXPECT_FALSE((SlurmTask{"1", 0, state, ""}.alive())) << state;
  }
}

// Shell scripts in the place of Slurm's commands: sbatch makes all tasks of an array before it
// returns. tests/system/slurm_test.py has a real one.
class SlurmTest : public ::testing::Test {
 protected:
  SlurmTest() : search_path_(std::getenv("PATH")) {
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    setenv("PATH", ((dir_ / "bin").string() + ":" + search_path_).c_str(), 1);
    std::filesystem::create_directories(dir_ / "bin");
    command("scontrol", "echo 'MaxArraySize            = 2'");
    command("squeue", "cat '" + (dir_ / "queue").string() + "'");
    write("queue", "");
    command("sbatch",
            "cd '" + dir_.string() +
                "'\necho \"$@\" >> asked\njob=$(wc -l < asked)\nfor word; do script=$word; case "
                "$word in --array=0-*) last=${word#--array=0-};; esac; done\n"
                "export SLURM_CPUS_PER_TASK=1\nfor task in $(seq 0 $last); do\n"
                "  [ -e node_is_down ] || SLURM_ARRAY_TASK_ID=$task sh $script > /dev/null\ndone\n"
                "rm -f node_is_down\necho $job");
    write_pair_folder({}, testing::pair_with_test_set(testing::small_spec(), 200), dir_ / "pair");
    write("x.toml", "name = 'small'\n[evaluation]\ntrajectories = 2\n[[grid]]\npairs = ['" +
                        (dir_ / "pair").string() +
                        "']\nsolvers = ['oracle', 'independent', 'reference']\nseeds = [0, 1]\n");
  }
  ~SlurmTest() override { setenv("PATH", search_path_.c_str(), 1); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name, std::ios::binary) << text;
  }

  void command(const std::string& name, const std::string& text) const {
    write("bin/" + name, "#!/bin/sh\n" + text + "\n");
    chmod((dir_ / "bin" / name).c_str(), 0755);
  }

  GridSummary run(SlurmOptions options = {}, const Context& context = {.num_threads = 1}) const {
    options.program = testing::tested_program();
    return run_on_slurm(context, load_experiment(dir_ / "x.toml"), dir_ / "out", options);
  }

  std::string refusal(const SlurmOptions& options = {}) const {
    try {
      run(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  std::string asked() const { return testing::slurp(dir_ / "asked"); }

  testing::TempDir temp_;
  std::filesystem::path dir_ = temp_.path();
  std::string search_path_;
};

TEST_F(SlurmTest, SplitsArraysAndPassesOptionsOn) {
  SlurmOptions options;
  options.sbatch = {"--partition=main", "--time", "5"};
  const GridSummary summary = run(options);
  EXPECT_EQ(summary.total, 6u);
  EXPECT_TRUE(summary.failed.empty());
  EXPECT_EQ(load_results(dir_ / "out" / kResultsJsonl).size(), 6u);
  const std::string lines = asked();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  EXPECT_THAT(lines, AllOf(HasSubstr("--array=0-1"), HasSubstr("--requeue"),
                           HasSubstr("--cpus-per-task=1 --partition=main --time 5 "),
                           Not(HasSubstr("--gres"))));
}

TEST_F(SlurmTest, ATaskMakesSeveralRuns) {
  SlurmOptions options;
  options.runs_per_task = 4;
  EXPECT_TRUE(run(options).failed.empty());
  EXPECT_EQ(load_results(dir_ / "out" / kResultsJsonl).size(), 6u);
  const std::string lines = asked();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
}

TEST_F(SlurmTest, AsksForAGpuUnlessTheUserDoes) {
  command("sbatch", "echo \"$@\" >> '" + (dir_ / "asked").string() + "'\necho later >&2\nexit 1");
  const Context context{.device = Device::kCuda, .num_threads = 4};
  EXPECT_THROW(run({}, context), Error);
  EXPECT_THAT(asked(), AllOf(HasSubstr("--gres=gpu:1"), HasSubstr("--cpus-per-task=4")));
  SlurmOptions options;
  options.resume = true;
  options.sbatch = {"--gpus=h200:1"};
  options.at_once = 3;
  write("asked", "");
  EXPECT_THROW(run(options, context), Error);
  EXPECT_THAT(asked(), AllOf(HasSubstr("--gpus=h200:1"), HasSubstr("--array=0-1%3 "),
                             Not(HasSubstr("--gres"))));
}

// sbatch would fill in "%o".
TEST_F(SlurmTest, APercentSignInThePathIsItself) {
  command("sbatch", "echo \"$@\" >> '" + (dir_ / "asked").string() + "'\nexit 1");
  SlurmOptions options;
  options.program = testing::tested_program();
  EXPECT_THROW(
      run_on_slurm({.num_threads = 1}, load_experiment(dir_ / "x.toml"), dir_ / "50%out", options),
      Error);
  EXPECT_THAT(asked(), HasSubstr("/50%%out/slurm/1/task-%a.txt"));
}

TEST_F(SlurmTest, LostTasksGoAgainAndResumeSubmitsWhatIsMissing) {
  write("node_is_down", "");  // for one array
  EXPECT_TRUE(run().failed.empty());
  EXPECT_EQ(load_results(dir_ / "out" / kResultsJsonl).size(), 6u);
  EXPECT_THAT(refusal(), HasSubstr("already holds an experiment"));
  const std::string before = asked();
  EXPECT_EQ(std::count(before.begin(), before.end(), '\n'), 4);
  SlurmOptions options;
  options.resume = true;
  EXPECT_EQ(run(options).skipped, 6u);
  EXPECT_EQ(asked(), before);
  std::filesystem::remove_all(dir_ / "out" / "runs" / "pair.oracle.seed1");
  EXPECT_EQ(run(options).skipped, 5u);
  EXPECT_THAT(asked().substr(before.size()), HasSubstr("--array=0-0 "));
}

// Tasks that an earlier call has in the queue are waited for, not submitted twice; one that the
// user cancels does not go again.
TEST_F(SlurmTest, QueuedAndCancelledTasksAreLeftAlone) {
  command("sbatch", "echo \"$@\" >> '" + (dir_ / "asked").string() + "'\necho 7");
  SlurmOptions options;
  options.only = {"oracle"};
  bool stop = false;
  options.overview = [&](const Overview& overview) { stop = !overview.queue.empty(); };
  const Context context{.num_threads = 1, .stop = [&] { return stop; }};
  write("queue", "7|0-1|PENDING|Resources\n");
  EXPECT_THROW(run(options, context), Interrupted);
  const std::string before = asked();
  EXPECT_EQ(std::count(before.begin(), before.end(), '\n'), 1);
  options.resume = true;
  stop = false;
  int looks = 0;
  options.overview = [&](const Overview& overview) {
    if (looks++ > 0) return;
    EXPECT_EQ(overview.queue, "Slurm: 2 pending (Resources)");
    write("queue", "7|0|CANCELLED|None\n7|1|CANCELLED|None\n");
  };
  const GridSummary summary = run(options, context);
  ASSERT_EQ(summary.failed.size(), 2u);
  EXPECT_THAT(summary.failed[0].reason, HasSubstr("task 7_0 was cancelled"));
  EXPECT_EQ(asked(), before);
  run(options, context);  // another call submits what an earlier one was not to
  EXPECT_GT(asked().size(), before.size());
}

TEST_F(SlurmTest, GivesUpOnARunWhoseTasksNeverEndWell) {
  command("sbatch", "echo \"$@\" >> '" + (dir_ / "asked").string() + "'\necho 7");
  SlurmOptions options;
  options.only = {"oracle.seed0"};
  const GridSummary summary = run(options);
  ASSERT_EQ(summary.failed.size(), 1u);
  EXPECT_THAT(summary.failed[0].reason,
              AllOf(HasSubstr("ended 3 times without a result"), HasSubstr("task-0.txt")));
}

TEST_F(SlurmTest, RefusalsNameTheirReason) {
  for (const char* option : {"--array=0-3", "-a", "--wrap=true", "--wait", "-W"}) {
    SlurmOptions options;
    options.sbatch = {option};
    EXPECT_THAT(refusal(options), AllOf(HasSubstr(option), HasSubstr("is set by --slurm")));
  }
  command("scontrol", "echo 'no answer from the controller' >&2; exit 1");
  EXPECT_THAT(refusal(), HasSubstr("scontrol does not answer: no answer from the controller"));
  command("scontrol", "echo 'ClusterName = x'");
  EXPECT_THAT(refusal(), HasSubstr("takes no job arrays"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out"));
  command("scontrol", "echo 'MaxArraySize = 5'");
  command("sbatch", "echo 'sbatch: error: invalid partition specified: none' >&2; exit 1");
  EXPECT_THAT(refusal(), HasSubstr("sbatch refused: sbatch: error: invalid partition"));
}

}  // namespace
}  // namespace bridgemark
