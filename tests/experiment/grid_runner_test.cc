#include "bridgemark/experiment/grid/grid_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/experiment/run_commands.h"
#include "bridgemark/io/disk/claim_folder.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/program/child_process.h"
#include "bridgemark/pair/pair_folder.h"
#include "tests/io/io_testing.h"
#include "tests/support/places.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GridRunnerTest : public ::testing::Test {
 protected:
  GridRunnerTest() {
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // of the runs: it would take longer than they do
    write_pair_folder({}, testing::pair_with_test_set(testing::small_spec(), 200), dir_ / "pair");
    write(experiment_path(), grid("400"));
  }

  // Three runs that are done at once and two that train for a while.
  std::string grid(const std::string& updates) const {
    return "name = 'small'\n[evaluation]\nseeds = 2\ntrajectories = 20\n[[grid]]\npairs = ['" +
           (dir_ / "pair").string() +
           "']\nsolvers = ['oracle', 'independent', 'reference']\n[[grid]]\npairs = ['" +
           (dir_ / "pair").string() +
           "']\nsolvers = ['dlightsb']\nseeds = [0, 1]\n[grid.options]\ncomponents = 40\n"
           "checkpoint_every = 0\nlog_every = 50\nupdates = " +
           updates + "\n";
  }

  static void write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  std::filesystem::path experiment_path() const { return dir_ / "x.toml"; }

  GridSummary run(const std::string& folder, WorkerOptions options = {},
                  const Context& context = {.num_threads = 2}) const {
    options.program = testing::tested_program();
    return run_grid(context, load_experiment(experiment_path()), dir_ / folder, options);
  }

  // All that must not depend on how and when the runs were made.
  std::string scores(const std::string& folder) const {
    std::string text;
    for (const RunResult& result : load_results(dir_ / folder / kResultsJsonl)) {
      for (const Score& score : result.scores) {
        text += result.run + " " + score.name;
        for (const double value : score.values) text += fmt::format(" {}", value);
        text += fmt::format(" {} {}\n", score.mean, score.standard_error);
      }
    }
    return text;
  }

  std::string refusal(const std::string& folder, const WorkerOptions& options = {}) const {
    try {
      run(folder, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  testing::TempDir temp_;
  std::filesystem::path dir_ = temp_.path();
};

TEST_F(GridRunnerTest, RunsSkipsAndScoresAgain) {
  std::size_t most = 0;
  WorkerOptions options;
  options.overview = [&](const Overview& overview) {
    most = std::max(most, overview.active.size());
    EXPECT_EQ(overview.total, 5u);
  };
  const GridSummary first = run("out", options);
  EXPECT_EQ(first.total, 5u);
  EXPECT_EQ(first.skipped, 0u);
  EXPECT_TRUE(first.failed.empty());
  EXPECT_EQ(most, 2u);  // one for each thread
  const std::vector<RunResult> results = load_results(dir_ / "out" / kResultsJsonl);
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(results[4].run, "pair.dlightsb.seed1");
  EXPECT_EQ(results[4].method, "DLightSB");
  EXPECT_EQ(results[4].options.at("components"), "40");
  EXPECT_EQ(results[4].evaluation_seed, 2u);
  EXPECT_EQ(results[4].diagnostics.at("updates"), 400);
  EXPECT_FALSE(results[4].machine.empty());
  EXPECT_FALSE(results[4].version.empty());
  ASSERT_NE(results[0].find("joint_kl"), nullptr);
  EXPECT_EQ(results[0].find("joint_kl")->mean, 0.0);
  EXPECT_EQ(results[1].find("joint_kl"), nullptr);  // independent has no joint
  EXPECT_EQ(results[0].find("shape_score")->values.size(), 2u);
  const std::string csv = testing::slurp(dir_ / "out" / kResultsCsv);
  EXPECT_THAT(csv, HasSubstr("\nsmall,pair.oracle.seed0,Oracle,"));

  EXPECT_THAT(refusal("out"), HasSubstr("already holds an experiment"));
  const auto model = dir_ / "out" / "runs" / "pair.dlightsb.seed1" / "model.safetensors";
  const auto written = std::filesystem::last_write_time(model);
  const std::string before = scores("out");
  options.resume = true;
  EXPECT_EQ(run("out", options).skipped, 5u);
  EXPECT_EQ(scores("out"), before);

  // Another protocol: scored again, not trained again.
  std::string text = grid("400");
  text.replace(text.find("seeds = 2"), 9, "seeds = 3");
  write(experiment_path(), text);
  EXPECT_EQ(run("out", options).skipped, 0u);
  EXPECT_EQ(load_results(dir_ / "out" / kResultsJsonl)[3].find("shape_score")->values.size(), 3u);
  EXPECT_EQ(std::filesystem::last_write_time(model), written);

  // The same run with other options: refused before anything runs.
  write(experiment_path(), grid("401"));
  EXPECT_THAT(refusal("out", options),
              AllOf(HasSubstr("pair.dlightsb.seed0"), HasSubstr("another configuration")));
}

// What a line of results.jsonl says is enough to make its number again.
TEST_F(GridRunnerTest, CommandsOfALineRepeatItsNumber) {
  run("out");
  const std::vector<RunResult> results = load_results(dir_ / "out" / kResultsJsonl);
  ASSERT_EQ(results.size(), 5u);
  for (const RunResult& result : {results[2], results[4]}) {
    SCOPED_TRACE(result.run);
    EXPECT_EQ(result.pair_identity.at("version"), 1);
    EXPECT_TRUE(result.pair_identity.contains("seed"));
    EXPECT_TRUE(result.pair_identity.contains("fingerprint"));
    const ExperimentRun recorded = recorded_run(result);
    const std::filesystem::path again = dir_ / ("again-" + result.run), out = dir_ / "again.json";
    const auto succeed = [&](const std::vector<std::string>& arguments) {
      ChildProcess program(testing::tested_program(), arguments, out, dir_ / "log.txt");
      std::optional<int> status;
      while (!(status = program.poll())) usleep(1000);
      EXPECT_EQ(*status, 0) << testing::slurp(dir_ / "log.txt");
    };
    succeed(train_arguments(recorded, again));
    succeed(evaluate_arguments(recorded, again));
    const nlohmann::json scores = nlohmann::json::parse(testing::slurp(out));
    for (const Score& score : result.scores) {
      if (std::isnan(score.mean)) continue;
      EXPECT_EQ(scores.at("values").at(score.name), score.values) << score.name;
    }
  }
}

TEST_F(GridRunnerTest, OnlySelectedRunsAreMade) {
  WorkerOptions options;
  options.only = {"oracle", "*.reference.*"};
  EXPECT_EQ(run("out", options).total, 2u);
  EXPECT_EQ(load_results(dir_ / "out" / kResultsJsonl).size(), 2u);
  options.only = {"independent"};
  options.resume = true;
  EXPECT_EQ(run("out", options).total, 1u);
  EXPECT_EQ(load_results(dir_ / "out" / kResultsJsonl).size(), 3u);  // with those made before
  options.only = {"independant"};
  EXPECT_THAT(refusal("out", options), HasSubstr("names no run"));
}

TEST_F(GridRunnerTest, AFailedRunLeavesTheOthersAlone) {
  // A file where the run's folder should be.
  std::filesystem::create_directories(dir_ / "out" / "runs");
  write(dir_ / "out" / "runs" / "pair.independent.seed0", "in the way");
  const GridSummary summary = run("out");
  EXPECT_EQ(summary.total, 5u);
  ASSERT_EQ(summary.failed.size(), 1u);
  EXPECT_EQ(summary.failed[0].id, "pair.independent.seed0");
  EXPECT_THAT(summary.failed[0].reason,
              AllOf(HasSubstr("ended with status 2"), HasSubstr("bridgemark: ")));
  EXPECT_EQ(load_results(dir_ / "out" / kResultsJsonl).size(), 4u);
}

// A solver of others may end its process with the status of a run that another process has.
TEST_F(GridRunnerTest, ARunThatNobodyHasIsNotTriedForEver) {
  const std::filesystem::path program = dir_ / "busy.sh", tries = dir_ / "tries";
  write(program, "#!/bin/sh\necho once >> " + tries.string() + "\nexit 75\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  WorkerOptions options;
  options.program = program;
  options.only = {"oracle"};
  options.shard = Shard{};
  const GridSummary summary =
      run_grid({.num_threads = 1}, load_experiment(experiment_path()), dir_ / "out", options);
  ASSERT_EQ(summary.failed.size(), 1u);
  EXPECT_THAT(summary.failed[0].reason,
              HasSubstr("ended with status 75, as one that another process has, 3 times, but none "
                        "has it"));
  EXPECT_EQ(testing::slurp(tries), "once\nonce\nonce\n");
}

TEST_F(GridRunnerTest, StopKeepsWhatWasDone) {
  write(experiment_path(), grid("200000"));
  Context context{.num_threads = 2};
  bool training = false;
  WorkerOptions options;
  options.overview = [&](const Overview& overview) { training = overview.done == 3; };
  const auto checkpoint = dir_ / "out" / "runs" / "pair.dlightsb.seed0" / "checkpoint.safetensors";
  context.stop = [&] { return training && std::filesystem::exists(checkpoint); };
  try {
    run("out", options, context);
    FAIL() << "nothing was thrown";
  } catch (const Interrupted& error) {
    EXPECT_THAT(error.what(), HasSubstr("stopped with 3 of 5 runs done; go on with --resume"));
  }
  EXPECT_EQ(load_results(dir_ / "out" / kResultsJsonl).size(), 3u);
}

// kill -9 of the whole program at any moment, again and again: the folder stays usable, and the
// results are those of a run that was left alone.
TEST_F(GridRunnerTest, KilledExperimentsResumeToTheSameResults) {
  run("whole");
  const std::vector<std::string> arguments = {
      "run", experiment_path().string(), "-o", (dir_ / "killed").string(), "--resume", "--threads",
      "2"};
  for (int attempt = 0; attempt < 6; ++attempt) {
    ChildProcess program(testing::tested_program(), arguments, "/dev/null", dir_ / "log.txt");
    usleep(static_cast<useconds_t>(40000 + 60000 * attempt));
    kill(program.id(), SIGKILL);
    while (!program.poll()) usleep(1000);
  }
  WorkerOptions options;
  options.resume = true;
  const GridSummary summary = run("killed", options);
  for (const auto& failed : summary.failed) ADD_FAILURE() << failed.id << ": " << failed.reason;
  EXPECT_EQ(scores("killed"), scores("whole"));
  EXPECT_EQ(testing::slurp(dir_ / "killed" / "runs" / "pair.dlightsb.seed1" / "model.safetensors"),
            testing::slurp(dir_ / "whole" / "runs" / "pair.dlightsb.seed1" / "model.safetensors"));
}

// Processes whose command names the folder.
std::vector<pid_t> those_naming(const std::filesystem::path& folder) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string command((std::istreambuf_iterator<char>(file)), {});
    if (command.find(folder.string()) == std::string::npos) continue;
    found.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return found;
}

std::size_t processes_naming(const std::filesystem::path& folder) {
  return those_naming(folder).size();
}

// A run that outlived the program would work on the files of the next one.
TEST_F(GridRunnerTest, RunsEndWithTheProgram) {
  write(experiment_path(), grid("200000"));
  const std::filesystem::path runs = dir_ / "out" / "runs";
  ChildProcess program(testing::tested_program(),
                       {"run", experiment_path().string(), "-o", (dir_ / "out").string()},
                       "/dev/null", dir_ / "log.txt");
  while (!std::filesystem::exists(runs / "pair.dlightsb.seed0" / "checkpoint.safetensors")) {
    usleep(1000);
  }
  EXPECT_GT(processes_naming(runs), 0u);
  kill(program.id(), SIGKILL);
  while (!program.poll()) usleep(1000);
  // They end however slow the machine is; ones that do not run into the test's own limit.
  while (processes_naming(runs) > 0) usleep(1000);
}

TEST_F(GridRunnerTest, OneAtATimeInAFolder) {
  write(experiment_path(), grid("200000"));
  ChildProcess program(testing::tested_program(),
                       {"run", experiment_path().string(), "-o", (dir_ / "out").string()},
                       "/dev/null", dir_ / "log.txt");
  while (!std::filesystem::exists(dir_ / "out" / "experiment.toml")) usleep(1000);
  WorkerOptions options;
  options.resume = true;
  EXPECT_THAT(refusal("out", options), HasSubstr("another bridgemark run is at work"));
  program.terminate();
  std::optional<int> status;
  while (!(status = program.poll())) usleep(1000);
  EXPECT_EQ(*status, 130);
  EXPECT_THAT(testing::slurp(dir_ / "log.txt"), HasSubstr("go on with --resume"));
}

class SharedGridTest : public GridRunnerTest {
 protected:
  static WorkerOptions shard(int number, int count) {
    WorkerOptions options;
    options.shard = Shard{number, count};
    options.stale_after = std::chrono::seconds(2);
    return options;
  }
};

// Every run is made by one worker, and each ends with the results of all.
TEST_F(SharedGridTest, WorkersMakeEachRunOnce) {
  run("whole");
  std::vector<GridSummary> summaries(3);
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 3; ++i) {
      workers.emplace_back([&, i] {
        summaries[static_cast<std::size_t>(i)] = run("shared", shard(i + 1, 3), {.num_threads = 1});
      });
    }
  }
  std::size_t made = 0;
  for (const GridSummary& summary : summaries) {
    EXPECT_EQ(summary.total, 5u);
    EXPECT_TRUE(summary.failed.empty());
    made += summary.total - summary.skipped;
  }
  EXPECT_EQ(made, 5u);
  EXPECT_EQ(scores("shared"), scores("whole"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "shared" / "lock"));
  for (const auto& entry : std::filesystem::directory_iterator(dir_ / "shared" / "claims")) {
    EXPECT_EQ(entry.path().filename(), ".lock");
  }
}

TEST_F(SharedGridTest, WorkersAreOfOneExperiment) {
  WorkerOptions options = shard(1, 2);
  options.only = {"oracle"};
  run("out", options);
  write(experiment_path(), grid("401"));
  EXPECT_THAT(refusal("out", options), HasSubstr("holds another experiment"));
  options.resume = true;
  EXPECT_EQ(run("out", options).skipped, 1u);
  EXPECT_THAT(testing::slurp(dir_ / "out" / "experiment.toml"), HasSubstr("updates = 401"));
  // A grid of one process and shards do not mix.
  const FolderLock lock(dir_ / "out");
  EXPECT_THAT(refusal("out", options), HasSubstr("another bridgemark run is at work"));
}

TEST_F(SharedGridTest, AFailureIsEveryWorkersUntilResumed) {
  WorkerOptions options = shard(1, 2);
  options.only = {"independent"};
  std::filesystem::create_directories(dir_ / "out" / "runs");
  const std::filesystem::path in_the_way = dir_ / "out" / "runs" / "pair.independent.seed0";
  write(in_the_way, "in the way");
  ASSERT_EQ(run("out", options).failed.size(), 1u);
  std::filesystem::remove(in_the_way);
  options.shard->number = 2;
  const GridSummary second = run("out", options);
  ASSERT_EQ(second.failed.size(), 1u);
  EXPECT_THAT(second.failed[0].reason, HasSubstr("ended with status 2"));
  options.resume = true;
  EXPECT_TRUE(run("out", options).failed.empty());
}

// A run whose worker was taken for dead may still have a process on another machine.
TEST_F(SharedGridTest, WaitsForWhoeverStillWorksInARunsFolder) {
  const std::filesystem::path folder = dir_ / "out" / "runs" / "pair.oracle.seed0";
  std::filesystem::create_directories(folder);
  WorkerOptions options = shard(1, 1);
  options.only = {"oracle"};
  auto lock = std::make_unique<FolderLock>(folder);
  std::jthread other([&] {
    while (testing::slurp(dir_ / "out" / "logs" / "pair.oracle.seed0.txt").empty()) usleep(1000);
    lock.reset();
  });
  const GridSummary summary = run("out", options);
  EXPECT_TRUE(summary.failed.empty());
  EXPECT_EQ(load_results(dir_ / "out" / kResultsJsonl).size(), 1u);
}

// A worker that was silent for too long and comes back stops what others have taken over.
TEST_F(SharedGridTest, ALostRunIsLeftToItsNewWorker) {
  const std::string id = "pair.dlightsb.seed0";
  WorkerOptions options = shard(1, 1);
  options.only = {id};
  options.stale_after = std::chrono::seconds(60);
  std::unique_ptr<ClaimFolder> other;
  std::size_t stopped = 0;
  options.overview = [&](const Overview& overview) {
    if (!other && overview.active.size() == 1) {
      other = std::make_unique<ClaimFolder>(dir_ / "out" / "claims", std::chrono::seconds(60));
      std::filesystem::remove(dir_ / "out" / "claims" / id);
      ASSERT_TRUE(other->take(id));
    } else if (other && overview.active.empty() && overview.done == 0) {
      ++stopped;
      other->release(id);
    }
  };
  EXPECT_TRUE(run("out", options).failed.empty());
  EXPECT_GT(stopped, 0u);
  EXPECT_EQ(load_results(dir_ / "out" / kResultsJsonl).size(), 1u);
}

// A run that is killed has failed where its worker lives on, and not where both die together.
TEST_F(SharedGridTest, ARunThatDiesWithItsWorkerHasNotFailed) {
  write(experiment_path(), grid("200000"));
  const std::string id = "pair.dlightsb.seed0";
  const std::filesystem::path folder = dir_ / "out" / "runs" / id;
  const std::filesystem::path failure = dir_ / "out" / "failed" / (id + ".txt");
  ChildProcess worker(testing::tested_program(),
                      {"run", experiment_path().string(), "-o", (dir_ / "out").string(), "--shard",
                       "1/1", "--stale-after", "1", "--only", id},
                      "/dev/null", dir_ / "log.txt");
  const auto kill_run = [&] {
    std::vector<pid_t> found;
    while ((found = those_naming(folder)).empty()) usleep(1000);
    ASSERT_EQ(found.size(), 1u);
    kill(found[0], SIGKILL);
  };
  kill_run();
  usleep(300000);
  worker.terminate();
  while (!worker.poll()) usleep(1000);
  EXPECT_FALSE(std::filesystem::exists(failure));

  std::jthread killer(kill_run);
  WorkerOptions options = shard(1, 1);
  options.only = {id};
  const GridSummary summary = run("out", options);
  ASSERT_EQ(summary.failed.size(), 1u);
  EXPECT_THAT(summary.failed[0].reason, HasSubstr("ended by signal 9"));
  EXPECT_TRUE(std::filesystem::exists(failure));
}

}  // namespace
}  // namespace bridgemark
