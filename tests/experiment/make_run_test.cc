#include "bridgemark/experiment/make_run.h"

#include <gtest/gtest.h>

#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/experiment/run_commands.h"
#include "bridgemark/io/json.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run_files.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

ExperimentRun reference_run() {
  ExperimentRun run;
  run.id = "run";
  run.config = {"reference", "d2-uniform-0.01", 3, {}};
  run.evaluation = {.seed = 5,
                    .num_seeds = 2,
                    .num_steps = 8,
                    .num_trajectories = 20,
                    .conditional_samples = 50,
                    .c2st = false,
                    .particles = 3,
                    .max_seconds = 0.0};
  return run;
}

TEST(MakeRun, TextKeepsWhatARunIs) {
  ExperimentRun run = reference_run();
  run.config.options = {{"updates", "7"}, {"label", "a \"quoted\" one"}};
  const ExperimentRun read = parse_run(run_text(run));
  EXPECT_EQ(read.id, run.id);
  EXPECT_EQ(read.config.solver, run.config.solver);
  EXPECT_EQ(read.config.pair, run.config.pair);
  EXPECT_EQ(read.config.seed, run.config.seed);
  EXPECT_EQ(read.config.options, run.config.options);
  EXPECT_FALSE(read.both_directions);
  run.both_directions = true;
  EXPECT_TRUE(parse_run(run_text(run)).both_directions);
  EXPECT_EQ(scored_runs(run)[1].id, "d2-uniform-0.01-reverse.run");
  EXPECT_EQ(read.evaluation.seed, 5u);
  EXPECT_EQ(read.evaluation.num_seeds, 2);
  EXPECT_EQ(read.evaluation.num_steps, 8);
  EXPECT_EQ(read.evaluation.num_trajectories, 20u);
  EXPECT_EQ(read.evaluation.conditional_samples, 50u);
  EXPECT_EQ(read.evaluation.particles, 3u);
  EXPECT_EQ(read.evaluation.max_seconds, 0.0);
  run.evaluation.num_steps.reset();
  EXPECT_EQ(parse_run(run_text(run)).evaluation.num_steps, std::nullopt);
}

TEST(MakeRun, OtherTextIsRefused) {
  for (const char* text : {"", "{", "{}", "[1]", R"({"id": 3})"}) {
    EXPECT_THROW(parse_run(text), InvalidArgument) << text;
  }
}

// Trained once, and scored again where that is asked for.
TEST(MakeRun, TrainsAndScores) {
  const testing::TempDir dir;
  ExperimentRun run = reference_run();
  const BenchmarkPair pair = load_pair(run.config.pair);
  const std::filesystem::path folder = dir.path() / "run";
  make_run({}, run, pair, folder);
  EXPECT_TRUE(is_complete_run(folder));
  const nlohmann::json first = load_json(folder / kRunScores);
  EXPECT_EQ(first.at("seed"), 5);
  EXPECT_EQ(first.at("num_seeds"), 2);
  EXPECT_EQ(first.at("pair"), "d2-uniform-0.01");
  const auto trained = std::filesystem::last_write_time(folder / "result.json");
  run.evaluation.seed = 6;
  make_run({}, run, pair, folder);
  EXPECT_EQ(load_json(folder / kRunScores).at("seed"), 6);
  EXPECT_EQ(std::filesystem::last_write_time(folder / "result.json"), trained);
}

// One training answers both directions, each result with a name and a way to make it again.
TEST(MakeRun, ScoresBothDirections) {
  const testing::TempDir dir;
  const std::filesystem::path folder = dir.path() / "run";
  ExperimentRun run = reference_run();
  run.id = "d2-uniform-0.01.mine.seed3";
  run.both_directions = true;
  run.config.solver = "csbm";
  SolverOptions options(find_solver("csbm").options());
  for (const char* text :
       {"initial=independent", "imf_iterations=1", "updates_first=2", "num_steps=4", "hidden=8"}) {
    options.set_assignment(text);
  }
  find_solver("csbm").resolve(options);
  run.config.options = options.values();
  run.evaluation.num_steps = 4;
  make_run({}, run, load_pair(run.config.pair), folder);
  const std::vector<RunResult> results = read_run_results("both", run, folder);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].run, run.id);
  EXPECT_EQ(results[0].pair, "d2-uniform-0.01");
  EXPECT_EQ(results[0].trained_on, "");
  EXPECT_EQ(results[0].find("c2st_auc"), nullptr);
  EXPECT_EQ(results[1].run, "d2-uniform-0.01-reverse.mine.seed3");
  EXPECT_EQ(results[1].pair, "d2-uniform-0.01-reverse");
  EXPECT_EQ(results[1].trained_on, "d2-uniform-0.01");
  EXPECT_TRUE(results[1].pair_identity.at("reverse"));
  EXPECT_NE(results[1].find("c2st_auc"), nullptr);
  EXPECT_EQ(results[0].train_seconds, results[1].train_seconds);

  write_results(results, dir.path());
  const std::vector<RunResult> read = load_results(dir.path() / kResultsJsonl);
  ASSERT_EQ(read.size(), 2u);
  // What a joint KL by particles is goes with it.
  for (std::size_t i = 0; i < 2; ++i) {
    const Score* joint = read[i].find("joint_kl");
    ASSERT_NE(joint, nullptr);
    ASSERT_TRUE(joint->bound_change.has_value());
    EXPECT_EQ(joint->bound_change, results[i].find("joint_kl")->bound_change);
    EXPECT_GE(*joint->bound_change, 0.0);
    EXPECT_EQ(read[i].particles, 3u);
    EXPECT_EQ(read[i].joint_kl.particles, 3u);
    EXPECT_GT(read[i].joint_kl.worst_rows.size(), 0u);
    EXPECT_EQ(read[i].joint_kl.worst_rows, results[i].joint_kl.worst_rows);
    EXPECT_EQ(read[i].joint_kl.worst_values, results[i].joint_kl.worst_values);
    EXPECT_EQ(read[i].joint_kl.worst_share, results[i].joint_kl.worst_share);
    EXPECT_FALSE(read[i].find("shape_score")->bound_change);
  }
  const ExperimentRun recorded = recorded_run(read[1]);
  EXPECT_EQ(train_arguments(recorded, "RUN")[3], "d2-uniform-0.01");
  EXPECT_EQ(evaluate_arguments(recorded, "RUN")[1], "d2-uniform-0.01-reverse");
}

}  // namespace
}  // namespace bridgemark
