#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/json.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/run/run_files.h"
#include "tests/io/io_testing.h"
#include "tests/support/killed_run.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

// Runs that are fitted to a training set of a pair.
namespace bridgemark {
namespace {

using testing::error_of;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Options = std::map<std::string, std::string, std::less<>>;

Options few_updates(const std::string& solver) {
  if (solver == "feature-wise") return {{"imf_steps", "16"}};
  if (solver.ends_with("csbm")) {
    return {{"num_steps", "4"},        {"hidden", "8"},        {"imf_iterations", "2"},
            {"updates_first", "8"},    {"updates_later", "4"}, {"batch_size", "8"},
            {"initial", "independent"}};
  }
  if (solver == "dlightsb-m") {
    return {{"num_steps", "4"}, {"components", "4"}, {"updates", "8"}, {"batch_size", "8"}};
  }
  if (solver == "dlightsb-chain" || solver == "dlightsb-tree") {
    return {{"updates", "8"}, {"batch_size", "8"}};
  }
  if (solver == "dlightsb") return {{"components", "4"}, {"updates", "8"}, {"batch_size", "8"}};
  return {};
}

RunConfig config_of(const std::string& solver, TrainingRows rows) {
  return {solver, "small", 3, few_updates(solver), rows};
}

States answers(const Coupling& coupling, const States& x0) {
  States x1(x0.rows(), x0.cols());
  coupling.sample({}, x0, {1, DrawPurpose::kConditional}, 0, x1);
  return x1;
}

class TrainingSetRun : public ::testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path folder() const { return dir_.path() / "run"; }
  testing::TempDir dir_;
};

// Fitted to the rows, it is what a fit to the same arrays is; it is read back with its pair, and
// says what it was trained on.
TEST_P(TrainingSetRun, IsTheFitToItsRowsAndIsReadBack) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const RunConfig config = config_of(GetParam(), {40, 2});
  const Fitted fitted = train_run({}, config, pair, folder(), false);
  const TrainingSet set = training_set({}, pair, 40, 2);
  const Solver& solver = find_solver(GetParam());
  SolverOptions options(solver.options());
  for (const auto& [key, value] : config.options) options.set(key, value);
  const Fitted of_arrays =
      solver.fit({}, FitProblem(set.x0, set.x1, pair.reference()), options, config.seed);
  const States x0 = pair.sample_x0({}, 60, 9);
  const States drawn = answers(*fitted.coupling, x0);
  EXPECT_EQ(drawn, answers(*of_arrays.coupling, x0));
  EXPECT_EQ(drawn, answers(*load_run({}, pair, folder()), x0));
  EXPECT_EQ(load_run_config(folder()).rows, (TrainingRows{40, 2}));
  const nlohmann::json result = load_json(folder() / kRunResult);
  EXPECT_EQ(result.at("samples"), 40);
  EXPECT_EQ(result.at("training_set"), 2);
  EXPECT_EQ(result.at("pair").at("name"), "small");
  EXPECT_FALSE(std::filesystem::exists(folder() / "data.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(EverySolverButTheOracle, TrainingSetRun,
                         ::testing::Values("independent", "reference", "feature-wise", "dlightsb",
                                           "dlightsb-m", "dlightsb-chain", "dlightsb-tree", "csbm",
                                           "alpha-csbm"),
                         [](const auto& solver) {
                           std::string name = solver.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(TrainingSetRuns, TheOracleRefuses) {
  const testing::TempDir dir;
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const auto train = [&] {
    train_run({}, config_of("oracle", {40, 2}), pair, dir.path() / "run", false);
  };
  EXPECT_THAT(error_of<Error>(train), AllOf(HasSubstr("oracle"), HasSubstr("without samples"),
                                            HasSubstr("got 40 rows of training set 2 of small")));
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "run"));
}

// Rows of the set and no others, so that what a solver never saw it does not answer.
TEST(TrainingSetRuns, IndependentDrawsRowsOfTheSet) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const TrainingSet set = training_set({}, pair, 3, 1);
  const Fitted fitted =
      find_solver("independent").fit({}, training_problem({}, pair, {3, 1}), SolverOptions({}), 0);
  const States x1 = answers(*fitted.coupling, pair.sample_x0({}, 200, 4));
  std::set<std::vector<int>> drawn, known;
  for (std::size_t i = 0; i < x1.rows(); ++i) drawn.insert({x1(i, 0), x1(i, 1)});
  for (std::size_t i = 0; i < set.x1.rows(); ++i) known.insert({set.x1(i, 0), set.x1(i, 1)});
  EXPECT_EQ(drawn, known);
}

// Its marginals are those of the rows, each taken once: nothing is drawn, so no seed matters.
TEST(TrainingSetRuns, FeatureWiseTakesEveryRowOnce) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const FitProblem problem = training_problem({}, pair, {50, 0});
  const Solver& solver = find_solver("feature-wise");
  const auto fit = [&](std::uint64_t seed, const std::string& assignment) {
    SolverOptions options(solver.options());
    options.set_assignment("imf_steps=16");
    if (!assignment.empty()) options.set_assignment(assignment);
    return solver.fit({}, problem, options, seed);
  };
  const auto bridge = [](const Fitted& fitted) {
    return std::dynamic_pointer_cast<const CpBridge>(fitted.coupling);
  };
  const Fitted one = fit(1, ""), two = fit(2, "");
  EXPECT_EQ(bridge(one)->potential().log_cores(), bridge(two)->potential().log_cores());
  for (const char* option : {"marginal_samples=7", "samples=7"}) {
    EXPECT_THAT(error_of<Error>([&] { fit(0, option); }),
                AllOf(HasSubstr("marginal_samples goes with endless draws"),
                      HasSubstr("got marginal_samples=7")));
  }
}

TEST(TrainingSetRuns, GoOnWithTheSameRowsAlone) {
  const testing::TempDir dir;
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const std::filesystem::path folder = dir.path() / "run";
  train_run({}, config_of("feature-wise", {40, 2}), pair, folder, false);
  const auto resume = [&](TrainingRows rows) {
    train_run({}, config_of("feature-wise", rows), pair, folder, true);
  };
  EXPECT_NO_THROW(resume({40, 2}));
  for (const TrainingRows rows : {TrainingRows{41, 2}, TrainingRows{40, 1}, TrainingRows{}}) {
    EXPECT_THAT(error_of<Error>([&] { resume(rows); }), HasSubstr("another configuration"));
  }
  EXPECT_THAT(error_of<Error>([&] { resume({0, 1}); }), HasSubstr("training_set 1 needs samples"));
  const FitProblem data(States(3, 2), States(3, 2), pair.reference());
  EXPECT_THAT(error_of<Error>([&] {
                train_run({}, config_of("feature-wise", {3, 0}), data, dir.path() / "d", false);
              }),
              HasSubstr("must be 0 for data, got 3"));
}

// The rows are drawn again from the pair, so a folder of it that has changed is noticed.
TEST(TrainingSetRuns, AnotherPairOfTheNameIsNoticed) {
  const testing::TempDir dir;
  const std::filesystem::path folder = dir.path() / "run";
  train_run({}, config_of("feature-wise", {40, 0}), build_pair(testing::small_spec()), folder,
            false);
  PairSpec other = testing::small_spec();
  other.gamma = 0.3;
  EXPECT_THAT(error_of<Error>([&] { load_run({}, build_pair(other), folder); }),
              HasSubstr("was fitted to pair 'small'"));
}

// A killed training ends where an undisturbed one does.
TEST(TrainingSetRuns, KilledRunsResume) {
  const testing::TempDir dir;
  write_pair_folder({}, build_pair(testing::small_spec()), dir.path() / "pair");
  RunConfig config{
      "dlightsb",
      (dir.path() / "pair").string(),
      3,
      {{"components", "8"}, {"updates", "1000"}, {"batch_size", "8"}, {"checkpoint_every", "0.01"}},
      {60, 1}};
  train_run({.num_threads = 1}, config, dir.path() / "whole", false);
  testing::train_through_kills(config, dir.path() / "killed", 3);
  EXPECT_EQ(testing::slurp(dir.path() / "killed" / kRunModel),
            testing::slurp(dir.path() / "whole" / kRunModel));
}

TEST(TrainingSetRuns, CsbmAnswersTheReversedPair) {
  const testing::TempDir dir;
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const Fitted fitted = train_run({}, config_of("csbm", {40, 2}), pair, dir.path() / "run", false);
  const States x1 = pair.sample_x1({}, 30, 5);
  EXPECT_EQ(answers(*load_run({}, pair.reversed(), dir.path() / "run"), x1),
            answers(*fitted.coupling->reversed(), x1));
}

// Read backwards, a bridge knows the rows of x0 that it was fitted to, and not the law of the pair.
TEST(TrainingSetRuns, ABridgeIsTurnedRoundWithItsRows) {
  const testing::TempDir dir;
  const BenchmarkPair pair = build_pair(testing::small_spec());
  train_run({}, config_of("feature-wise", {2, 0}), pair, dir.path() / "run", false);
  const RunConfig config = load_run_config(dir.path() / "run");
  const auto coupling = load_run({}, pair, dir.path() / "run");
  const auto reverse = reverse_coupling({}, trained_problem({}, config, pair), coupling);
  const States x0 = answers(*reverse, pair.sample_x1({}, 50, 5));
  const TrainingSet set = training_set({}, pair, 2, 0);
  for (std::size_t i = 0; i < x0.rows(); ++i) {
    const bool known = std::equal(x0.row(i), x0.row(i) + 2, set.x0.row(0)) ||
                       std::equal(x0.row(i), x0.row(i) + 2, set.x0.row(1));
    EXPECT_TRUE(known) << i;
  }
}

// Endless runs are written as before, and older files are read: without rows, and with the former
// name of an option.
TEST(TrainingSetRuns, OlderConfigurationsAreRead) {
  const testing::TempDir dir;
  save_run_config({"feature-wise", "small", 3, {{"marginal_samples", "70"}}}, dir.path());
  EXPECT_THAT(testing::slurp(dir.path() / kRunConfig), Not(HasSubstr("training_set")));
  std::ofstream(dir.path() / kRunConfig)
      << "solver = 'feature-wise'\npair = 'small'\nseed = '3'\n[options]\nsamples = '70'\n";
  const RunConfig config = load_run_config(dir.path());
  EXPECT_EQ(config.rows, TrainingRows{});
  EXPECT_EQ(config.options, (Options{{"marginal_samples", "70"}}));
}

// A run of data is scored on a pair of the same reference, S and D.
TEST(TrainingSetRuns, RunsOfDataAreOfAPairThatAgrees) {
  const testing::TempDir dir;
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const TrainingSet set = training_set({}, pair, 20, 0);
  const auto train = [&](const std::string& name, const FitProblem& problem) {
    RunConfig config = config_of("independent", {});
    config.pair = "";
    train_run({}, config, problem, dir.path() / name, false);
    load_run({}, pair, dir.path() / name);
  };
  const auto refusal = [&](const std::string& name, const FitProblem& problem) {
    return error_of<Error>([&] { train(name, problem); });
  };
  EXPECT_NO_THROW(train("same", FitProblem(set.x0, set.x1, pair.reference())));
  EXPECT_THAT(
      refusal("gamma", FitProblem(set.x0, set.x1, ReferenceProcess::gaussian(6, 0.2, 16))),
      AllOf(HasSubstr("whose reference must be that of pair 'small'"),
            HasSubstr("gaussian with gamma 0.25 and 16 steps, got gaussian with gamma 0.2")));
  EXPECT_THAT(refusal("S", FitProblem(set.x0, set.x1, ReferenceProcess::gaussian(7, 0.25, 16))),
              HasSubstr("whose S must be that of pair 'small', 6, got 7"));
  EXPECT_THAT(refusal("D", FitProblem(States(2, 3), States(2, 3), pair.reference())),
              HasSubstr("whose D must be that of pair 'small', 2, got 3"));
}

}  // namespace
}  // namespace bridgemark
