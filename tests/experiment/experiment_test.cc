#include "bridgemark/experiment/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/make_run.h"
#include "bridgemark/experiment/run_commands.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ExperimentFile : public ::testing::Test {
 protected:
  Experiment load(const std::string& text) const {
    std::ofstream(path(), std::ios::binary) << text;
    return load_experiment(path());
  }

  // The message that refuses the file: one line, with the file's name.
  std::string refusal(const std::string& text) const {
    try {
      load(text);
    } catch (const FileError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("x.toml: line "), Not(HasSubstr("\n"))));
      return error.what();
    }
    return "nothing was thrown";
  }

  std::filesystem::path path() const { return dir_.path() / "x.toml"; }

  testing::TempDir dir_;
};

std::vector<std::string> ids(const std::vector<ExperimentRun>& runs) {
  std::vector<std::string> ids;
  for (const ExperimentRun& run : runs) ids.push_back(run.id);
  return ids;
}

TEST_F(ExperimentFile, ExpandsInTheOrderOfTheFile) {
  const Experiment experiment = load(R"(
name = "small"
description = "two grids"
[evaluation]
seeds = 3
trajectories = 50
particles = 8
max_seconds = 7
[[grid]]
pairs = ["d2-gaussian-*-spread"]
solvers = ["oracle", "reference"]
[[grid]]
pairs = ["d2-uniform-0.01"]
solvers = ["dlightsb-m"]
seeds = [0, 4]
[grid.options]
components = 20
loss = ["mse", "kl"]
num_steps = 32
learning_rate = 0.005
)");
  EXPECT_EQ(experiment.name, "small");
  EXPECT_EQ(experiment.description, "two grids");
  EXPECT_THAT(
      ids(experiment.runs),
      ElementsAre(
          "d2-gaussian-0.02-spread.oracle.seed0", "d2-gaussian-0.02-spread.reference.seed0",
          "d2-gaussian-0.05-spread.oracle.seed0", "d2-gaussian-0.05-spread.reference.seed0",
          "d2-uniform-0.01.dlightsb-m.mse.32.seed0", "d2-uniform-0.01.dlightsb-m.mse.32.seed4",
          "d2-uniform-0.01.dlightsb-m.kl.32.seed0", "d2-uniform-0.01.dlightsb-m.kl.32.seed4"));
  const ExperimentRun& run = experiment.runs[5];
  EXPECT_EQ(run.method, "DLightSB-M");
  EXPECT_EQ(run.config.options.at("loss"), "mse");
  EXPECT_EQ(run.config.options.at("components"), "20");
  EXPECT_EQ(run.config.options.at("learning_rate"), "0.005");
  EXPECT_EQ(run.config.options.at("schedule"), "cosine");  // resolved
  EXPECT_EQ(run.evaluation.num_steps, 32);                 // the solver's own grid
  EXPECT_EQ(run.evaluation.particles, 8u);
  EXPECT_EQ(run.evaluation.max_seconds, 7.0);
  EXPECT_EQ(experiment.runs[0].evaluation.num_steps, 16);
  EXPECT_EQ(run.evaluation.num_trajectories, 50u);
  EXPECT_EQ(run.evaluation.num_seeds, 3);
  EXPECT_EQ(run.evaluation.seed, 12u);  // seed 4 draws 12, 13, 14
  EXPECT_EQ(run.dim, 2);
}

TEST_F(ExperimentFile, InstancesAndSeedsByNumber) {
  const Experiment experiment = load(R"(
name = "x"
[[grid]]
pairs = ["d2-uniform-0.01", "d2-uniform-0.01-reverse"]
instances = [0, 7]
solvers = ["oracle"]
seeds = 2
)");
  EXPECT_THAT(
      ids(experiment.runs),
      ElementsAre("d2-uniform-0.01.oracle.seed0", "d2-uniform-0.01.oracle.seed1",
                  "d2-uniform-0.01-i7.oracle.seed0", "d2-uniform-0.01-i7.oracle.seed1",
                  "d2-uniform-0.01-reverse.oracle.seed0", "d2-uniform-0.01-reverse.oracle.seed1",
                  "d2-uniform-0.01-i7-reverse.oracle.seed0",
                  "d2-uniform-0.01-i7-reverse.oracle.seed1"));
}

TEST_F(ExperimentFile, OptionsThatVaryNameTheMethod) {
  const Experiment experiment = load(R"(
name = "x"
[[grid]]
pairs = ["d2-uniform-0.01-reverse"]
solvers = ["dlightsb"]
label = "Mine"
options.recipe = ["tuned", "paper"]
)");
  ASSERT_EQ(experiment.runs.size(), 2u);
  EXPECT_EQ(experiment.runs[1].method, "Mine, recipe paper");
  EXPECT_EQ(experiment.runs[1].id, "d2-uniform-0.01-reverse.Mine--recipe-paper.seed0");
  EXPECT_EQ(experiment.runs[1].config.options.at("init"), "p0");
  EXPECT_TRUE(experiment.runs[1].evaluation.c2st);  // always for a reversed pair
}

TEST_F(ExperimentFile, BothDirectionsOfOneTraining) {
  const Experiment experiment = load(R"(
name = "x"
[[grid]]
pairs = ["d2-uniform-0.01"]
solvers = ["csbm"]
both_directions = true
)");
  ASSERT_EQ(experiment.runs.size(), 1u);
  EXPECT_THAT(
      ids(scored_runs(experiment.runs[0])),
      ElementsAre("d2-uniform-0.01.csbm.kl.64.seed0", "d2-uniform-0.01-reverse.csbm.kl.64.seed0"));
}

TEST_F(ExperimentFile, RefusesWithTheLineAndASuggestion) {
  const std::string grid = "name = 'x'\n[[grid]]\npairs = ['d2-gaussian-0.02']\n";
  const auto expect = [&](const std::string& text, const std::string& line,
                          const std::string& about, const std::string& hint) {
    EXPECT_THAT(refusal(text),
                AllOf(HasSubstr("line " + line + ":"), HasSubstr(about), HasSubstr(hint)))
        << text;
  };
  expect("name = 'x'\nnmae = 3\n", "2", "unknown key 'nmae' in the file", "did you mean 'name'");
  expect("name = 'x'\n[evaluation]\nseed = 3\n", "3", "[evaluation]", "did you mean 'seeds'");
  expect(grid + "solver = ['oracle']\n", "4", "unknown key 'solver'", "did you mean 'solvers'");
  expect(grid + "solvers = ['orcale']\n", "4", "'orcale'", "the nearest is oracle");
  expect("name = 'x'\n[[grid]]\npairs = [\n 'd2-gausian-0.02']\nsolvers = ['oracle']\n", "4",
         "'d2-gausian-0.02'", "the nearest preset is d2-gaussian-0.02");
  expect("name = 'x'\n[[grid]]\npairs = ['d3-*']\nsolvers = ['oracle']\n", "3", "'d3-*'",
         "matches no preset");
  expect(grid + "solvers = ['feature-wise']\nboth_directions = true\n", "4", "got feature-wise",
         "both from one training");
  expect(
      "name = 'x'\n[[grid]]\npairs = ['d2-uniform-0.01-reverse']\nsolvers = ['csbm']\n"
      "both_directions = true\n",
      "4", "got d2-uniform-0.01-reverse", "not reversed");
  expect(grid +
             "solvers = ['csbm']\nboth_directions = true\n[[grid]]\n"
             "pairs = ['d2-gaussian-0.02-reverse']\nsolvers = ['csbm']\n",
         "8", "d2-gaussian-0.02-reverse.csbm.kl.64.seed0", "is there already");
  // An option of another solver, a value of the wrong kind, a chain that does not fit the pair.
  expect(grid + "solvers = ['dlightsb']\n[grid.options]\nlos = 'kl'\n", "6", "unknown key 'los'",
         "(known: recipe, updates");
  expect(grid + "solvers = ['oracle']\n[grid.options]\nupdates = 5\n", "6", "oracle on",
         "takes no options");
  expect(grid + "solvers = ['dlightsb']\n[grid.options]\nbatch_size = 8\nupdates = [10, 'few']\n",
         "7", "updates must be a whole number", "got 'few'");
  expect(grid + "solvers = ['dlightsb-m']\n[grid.options]\nnum_steps = 24\n", "6", "num_steps must",
         "got 24");
  expect(grid + "solvers = ['csbm']\n[grid.options]\nnum_steps = [16, 24]\n", "6", "num_steps must",
         "got 24");
  expect(grid + "solvers = ['dlightsb-m']\n[grid.options]\nloss = ['kl', 'l2']\n", "6",
         "loss must be one of kl, mse", "got 'l2'");
  expect(grid + "solvers = ['feature-wise']\n[grid.options]\nimf_steps = 24\n", "6",
         "imf_steps must divide the 128 steps", "got '24'");
  expect(
      "name = 'x'\n[evaluation]\nnum_steps = 24\n[[grid]]\npairs = ['d2-*']\nsolvers = "
      "['oracle']\n",
      "3", "num_steps of the evaluation must divide the 128 steps", "got 24");
  // The same run twice.
  expect(grid + "solvers = ['oracle', 'oracle']\n", "4", "d2-gaussian-0.02.oracle.seed0", "label");
  expect(grid + "solvers = ['oracle']\nseeds = [1, 1]\n", "4", ".seed1", "label");
}

TEST_F(ExperimentFile, RefusesWrongTypes) {
  const std::string grid = "name = 'x'\n[[grid]]\npairs = ['d2-gaussian-0.02']\n";
  const auto expect = [&](const std::string& text, const std::string& line,
                          const std::string& about) {
    EXPECT_THAT(refusal(text), AllOf(HasSubstr("line " + line + ":"), HasSubstr(about))) << text;
  };
  expect("name = ", "1", "");
  expect("name = 'x'\n[[grid]\n", "2", "");
  expect("name = 3\n", "1", "'name' must be text in quotes, got a whole number");
  expect("name = ''\n", "1", "must not be empty");
  expect("description = 'x'\n", "1", "must have 'name'");
  expect("name = 'x'\n", "1", "at least one [[grid]]");
  expect("name = 'x'\n[grid]\npairs = []\n", "2", "written [[grid]]");
  expect("name = 'x'\nevaluation = 3\n", "2", "must be a table");
  expect("name = 'x'\n[evaluation]\nseeds = '3'\n", "3", "whole number in 1..100000, got text");
  expect("name = 'x'\n[evaluation]\nseeds = 0\n", "3", "got 0");
  expect("name = 'x'\n[evaluation]\nc2st = 1\n", "3", "true or false");
  expect("name = 'x'\n[evaluation]\nparticles = -1\n", "3", "0..65536, got -1");
  expect("name = 'x'\n[[grid]]\nsolvers = ['oracle']\n", "2", "must have 'pairs'");
  expect(grid, "2", "must have 'solvers'");
  expect(grid + "solvers = 'oracle'\n", "4", "must be a list");
  expect(grid + "solvers = []\n", "4", "an empty one");
  expect(grid + "solvers = [3]\n", "4", "must be text in quotes, got a whole number");
  expect(grid + "solvers = ['oracle']\nseeds = '3'\n", "5", "a whole number or a list");
  expect(grid + "solvers = ['oracle']\nseeds = 0\n", "5", "got 0");
  expect(grid + "solvers = ['oracle']\ninstances = []\n", "5", "an empty one");
  expect(grid + "solvers = ['oracle']\ninstances = [1000000]\n", "5", "got 1000000");
  expect(
      "name = 'x'\n[[grid]]\npairs = ['d2-uniform-0.01-i2']\ninstances = 2\nsolvers = "
      "['oracle']\n",
      "3", "'instances' are of presets, got the pair 'd2-uniform-0.01-i2'");
  expect("name = 'x'\n[[grid]]\npairs = ['data-words']\ninstances = 2\nsolvers = ['oracle']\n", "3",
         "'instances' are of presets with a seed, got the pair 'data-words'");
  expect(grid + "solvers = ['oracle']\nseeds = [-1]\n", "5", "got -1");
  expect(grid + "solvers = ['oracle']\nlabel = true\n", "5", "must be text");
  expect(grid + "solvers = ['dlightsb']\noptions = 3\n", "5", "must be a table");
  expect(grid + "solvers = ['dlightsb']\n[grid.options]\nupdates = []\n", "6", "empty list");
  expect(grid + "solvers = ['dlightsb']\n[grid.options]\nupdates = 2026-11-19\n", "6",
         "must be text, a number or true or false");
  expect(grid + "solvers = ['dlightsb']\n[grid.options]\nupdates = true\n", "6",
         "updates must be a whole number in 1..1073741824, got 'true'");
}

TEST_F(ExperimentFile, FiltersSelectById) {
  const Experiment experiment = load(
      "name = 'x'\n[[grid]]\npairs = ['d2-*']\nsolvers = ['oracle', 'reference']\nseeds = [0, "
      "1]\n");
  EXPECT_EQ(select_runs(experiment.runs, {}).size(), 64u);  // all families
  EXPECT_EQ(select_runs(experiment.runs, {"spread"}).size(), 16u);
  EXPECT_EQ(select_runs(experiment.runs, {"uniform"}).size(), 32u);
  EXPECT_EQ(select_runs(experiment.runs, {"d2-gaussian-*-spread.oracle.*"}).size(), 4u);
  EXPECT_EQ(select_runs(experiment.runs, {"uniform", "*.seed1"}).size(), 48u);
  EXPECT_THAT(ids(select_runs(experiment.runs, {"gaussian-0.02.reference.seed1"})),
              ElementsAre("d2-gaussian-0.02.reference.seed1"));
  try {
    select_runs(experiment.runs, {"oracle", "d2-gaussian-0.02.orcale.seed0"});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'d2-gaussian-0.02.orcale.seed0' names no run"),
                                    HasSubstr("d2-gaussian-0.02.oracle.seed0")));
  }
}

TEST_F(ExperimentFile, SamplesAndTrainingSetsMultiplyTheRunsThatLearn) {
  const Experiment experiment = load(R"(
name = "rows"
[[grid]]
pairs = ["d2-uniform-0.01"]
solvers = ["oracle", "independent"]
samples = [0, 30, 1000]
training_sets = [0, 3]
seeds = 2
)");
  EXPECT_THAT(ids(experiment.runs),
              ElementsAre("d2-uniform-0.01.oracle.seed0", "d2-uniform-0.01.oracle.seed1",
                          "d2-uniform-0.01.independent.seed0", "d2-uniform-0.01.independent.seed1",
                          "d2-uniform-0.01.independent.n30.set0.seed0",
                          "d2-uniform-0.01.independent.n30.set0.seed1",
                          "d2-uniform-0.01.independent.n30.set3.seed0",
                          "d2-uniform-0.01.independent.n30.set3.seed1",
                          "d2-uniform-0.01.independent.n1000.set0.seed0",
                          "d2-uniform-0.01.independent.n1000.set0.seed1",
                          "d2-uniform-0.01.independent.n1000.set3.seed0",
                          "d2-uniform-0.01.independent.n1000.set3.seed1"));
  const ExperimentRun& run = experiment.runs[6];
  EXPECT_EQ(run.config.rows, (TrainingRows{30, 3}));
  EXPECT_THAT(train_arguments(run, "RUN"),
              ElementsAre("train", "independent", "--pair", "d2-uniform-0.01", "--seed", "0", "-o",
                          "RUN", "--samples", "30", "--training-set", "3"));
  EXPECT_EQ(parse_run(run_text(run)).config.rows, run.config.rows);
  const std::string grid = "name = 'a'\n[[grid]]\npairs = ['d2-uniform-0.01']\nsolvers = ";
  EXPECT_EQ(load(grid + "['independent']\nsamples = 30\n").runs[0].config.rows,
            (TrainingRows{30, 0}));
  EXPECT_THAT(refusal(grid + "['independent']\ntraining_sets = 2\n"),
              HasSubstr("'training_sets' needs 'samples' above 0"));
  EXPECT_THAT(refusal(grid + "['independent']\nsamples = [-1]\n"), HasSubstr("samples"));
  EXPECT_THAT(
      refusal(grid + "['feature-wise']\nsamples = 30\n[grid.options]\nmarginal_samples = 9\n"),
      HasSubstr("marginal_samples goes with endless draws"));
  EXPECT_THAT(refusal(grid + "['csbm']\nsamples = [30, 0]\n[grid.options]\nholdout = 0.1\n"),
              HasSubstr("holdout goes with rows that end"));
}

}  // namespace
}  // namespace bridgemark
