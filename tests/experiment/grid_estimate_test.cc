#include "bridgemark/experiment/grid_estimate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "bridgemark/experiment/experiment.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

Experiment experiment_of(const std::string& grids) {
  const testing::TempDir dir;
  const std::filesystem::path path = dir.path() / "grid.toml";
  std::ofstream(path) << "name = \"t\"\n[evaluation]\nconditional_samples = 10\n"
                      << "trajectories = 10\nparticles = 4\n"
                      << grids;
  return load_experiment(path);
}

TEST(GridEstimate, RunsThatCostTheSameAreOneGroup) {
  const Experiment experiment = experiment_of(R"(
[[grid]]
pairs = ["d2-gaussian-0.02", "d2-gaussian-0.05", "d16-gaussian-0.02"]
solvers = ["dlightsb"]
seeds = 2
[[grid]]
pairs = ["d2-gaussian-0.02"]
solvers = ["dlightsb-m"]
[grid.options]
loss = ["kl", "mse"]
)");
  const std::vector<RunGroup> groups = group_runs(experiment.runs);
  ASSERT_EQ(groups.size(), 4);
  EXPECT_EQ(groups[0].runs, 4);
  EXPECT_EQ(groups[0].example->id, "d2-gaussian-0.02.dlightsb.seed0");
  EXPECT_EQ(groups[1].runs, 2);
  EXPECT_EQ(groups[2].runs, 1);
  EXPECT_EQ(groups[3].runs, 1);
}

// A training of months is told from one of seconds, in seconds.
TEST(GridEstimate, GoesOnFromALittle) {
  const Experiment experiment = experiment_of(R"(
[[grid]]
pairs = ["d2-gaussian-0.02"]
solvers = ["dlightsb"]
[grid.options]
updates = [20, 1000000000]
batch_size = 64
components = 10
)");
  const auto started = std::chrono::steady_clock::now();
  const RunEstimate few = estimate_run({}, experiment.runs[0]);
  const RunEstimate many = estimate_run({}, experiment.runs[1]);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  EXPECT_GT(few.train, 0.0);
  EXPECT_GT(few.evaluate, 0.0);
  EXPECT_GT(many.train, 100.0 * took.count());
}

TEST(GridEstimate, BothDirectionsAreScored) {
  const std::string grid = R"(
[[grid]]
pairs = ["d2-gaussian-0.02"]
solvers = ["csbm"]
both_directions = true
[grid.options]
updates_first = 2
updates_later = 1
num_steps = 4
initial = "independent"
)";
  const Experiment experiment = experiment_of(grid);
  EXPECT_GT(estimate_run({}, experiment.runs[0]).evaluate, 0.0);
}

TEST(GridEstimate, WhatDoesNotTrainIsTimedAsItIs) {
  const Experiment experiment = experiment_of(R"(
[[grid]]
pairs = ["d2-gaussian-0.02"]
solvers = ["independent"]
)");
  EXPECT_GT(estimate_run({}, experiment.runs[0]).evaluate, 0.0);
}

}  // namespace
}  // namespace bridgemark
