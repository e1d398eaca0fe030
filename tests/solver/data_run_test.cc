#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/data_problem.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/data_file.h"
#include "bridgemark/solver/run/run.h"
#include "tests/io/io_testing.h"
#include "tests/support/random_bridge.h"
#include "tests/support/small_pair.h"
#include "tests/support/sparse_steps.h"
#include "tests/support/temp_dir.h"

// Runs that are fitted to data instead of a pair.
namespace bridgemark {
namespace {

using testing::error_of;

using ::testing::HasSubstr;

// x0 low in every coordinate, x1 high: 8 categories.
FitProblem low_to_high(std::int32_t shift = 0,
                       const ReferenceProcess& reference = ReferenceProcess::gaussian(8, 0.2, 16)) {
  States x0(40, 3), x1(50, 3);
  for (std::size_t i = 0; i < x0.size(); ++i) x0.data()[i] = static_cast<std::int32_t>(i * 7 % 3);
  for (std::size_t i = 0; i < x1.size(); ++i) {
    x1.data()[i] = 5 + static_cast<std::int32_t>(i * 5 % 3);
  }
  x0(0, 0) += shift;
  return FitProblem(std::move(x0), std::move(x1), reference);
}

// Options that make a solver learn this in well under a second.
std::map<std::string, std::string, std::less<>> quick_options(const std::string& solver) {
  if (solver == "feature-wise") return {{"imf_steps", "16"}};
  if (solver == "csbm" || solver == "alpha-csbm") {
    return {{"num_steps", "4"},         {"hidden", "32"},        {"imf_iterations", "2"},
            {"updates_first", "300"},   {"updates_later", "20"}, {"batch_size", "64"},
            {"learning_rate", "0.003"}, {"ema", "0.9"},          {"initial", "independent"}};
  }
  if (solver == "dlightsb-m") {
    return {{"num_steps", "4"}, {"components", "8"}, {"updates", "2000"}, {"batch_size", "64"}};
  }
  if (solver == "dlightsb-chain" || solver == "dlightsb-tree") {
    return {{"updates", "200"}, {"batch_size", "64"}};
  }
  if (solver == "dlightsb") {
    return {
        {"components", "8"}, {"updates", "2000"}, {"batch_size", "64"}, {"schedule", "constant"}};
  }
  return {};
}

double mean_of(const States& states) {
  double sum = 0.0;
  for (std::size_t i = 0; i < states.size(); ++i) sum += states.data()[i];
  return sum / static_cast<double>(states.size());
}

class DataRun : public ::testing::TestWithParam<std::string> {
 protected:
  RunConfig config() const { return {GetParam(), "", 3, quick_options(GetParam())}; }
  std::filesystem::path folder() const { return dir_.path() / "run"; }
  testing::TempDir dir_;
};

// Learns to lead x0 up to x1, and answers the same once it is read back, from its folder alone.
TEST_P(DataRun, LeadsFromEndToEndAndIsReadBack) {
  const FitProblem problem = low_to_high();
  const Fitted fitted = train_run({}, config(), problem, folder(), false);
  const States x0 = problem.sample_x0({}, 400, 9);
  States x1(400, 3), again(400, 3);
  fitted.coupling->sample({}, x0, {1, DrawPurpose::kConditional}, 0, x1);
  const double reached = mean_of(x1);
  EXPECT_GT(reached, GetParam() == "reference" ? 1.0 : 4.5);  // from 1 to 6
  const LoadedRun run = load_whole_run({}, folder());
  EXPECT_EQ(run.config.solver, GetParam());
  EXPECT_TRUE(same_data(run.problem, problem));
  run.coupling->sample({}, x0, {1, DrawPurpose::kConditional}, 0, again);
  EXPECT_EQ(x1, again);
}

// One step of the reference leads to two categories alone, all of them to any.
TEST_P(DataRun, LeadsOverAReferenceWithZeros) {
  const FitProblem problem = low_to_high(0, ReferenceProcess::birth_death(8, 0.9, 16));
  const Fitted fitted = train_run({}, config(), problem, folder(), false);
  const States x0 = problem.sample_x0({}, 400, 9);
  States x1(400, 3);
  fitted.coupling->sample({}, x0, {1, DrawPurpose::kConditional}, 0, x1);
  EXPECT_GT(mean_of(x1), GetParam() == "reference" ? 1.0 : 4.5);  // from 1 to 6
  EXPECT_TRUE(same_data(load_whole_run({}, folder()).problem, problem));
}

TEST(DataRuns, AReferenceThatNeverLeadsThereIsNamed) {
  // Eight steps of one do not lead from 0 to more than 8.
  FitProblem far(States(2, 1, {0, 9}), States(2, 1, {8, 3}),
                 ReferenceProcess::birth_death(10, 0.5, 8));
  const testing::TempDir dir;
  for (const char* solver : {"dlightsb-m", "csbm", "alpha-csbm", "sinkhorn", "feature-wise"}) {
    const RunConfig config{solver, "", 0, quick_options(solver)};
    EXPECT_THAT(error_of<Error>([&] { train_run({}, config, far, dir.path() / solver, false); }),
                HasSubstr("needs a reference that leads from each category to each other, and the "
                          "birth-death one does not lead from 0 to 9 in 8 steps"))
        << solver;
  }
  const RunConfig config{"dlightsb", "", 0, {{"components", "4"}, {"updates", "20"}}};
  EXPECT_NO_THROW(train_run({}, config, far, dir.path() / "run", false));
  Context device;
  device.device = Device::kCuda;
  EXPECT_THAT(
      error_of<DeviceError>([&] { train_run(device, config, far, dir.path() / "device", false); }),
      HasSubstr("the device has no reference of kind birth-death; take --device cpu"));
}

INSTANTIATE_TEST_SUITE_P(EverySolverButTheOracle, DataRun,
                         ::testing::Values("independent", "reference", "feature-wise", "sinkhorn",
                                           "dlightsb", "dlightsb-m", "dlightsb-chain",
                                           "dlightsb-tree", "csbm", "alpha-csbm"),
                         [](const auto& solver) {
                           std::string name = solver.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(DataRuns, TheOracleAndEvaluateRefuse) {
  const testing::TempDir dir;
  const auto train = [&](const std::string& solver) {
    train_run({}, {solver, "", 0, {}}, low_to_high(), dir.path() / solver, false);
  };
  EXPECT_THAT(error_of<Error>([&] { train("oracle"); }),
              HasSubstr("must be fitted to a benchmark pair, without samples, got data"));
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "oracle"));
  train("reference");
  const BenchmarkPair pair = build_pair(testing::small_spec());
  EXPECT_THAT(error_of<Error>([&] { load_run({}, pair, dir.path() / "reference"); }),
              HasSubstr("was fitted to data whose D must be that of pair 'small', 2, got 3"));
  EXPECT_THAT(error_of<Error>([&] {
                train_run({}, {"dlightsb", "", 0, {{"x0_data", "rows.npy"}}}, low_to_high(),
                          dir.path() / "twice", false);
              }),
              HasSubstr("x0_data and x1_data must be empty where data is fitted"));
}

TEST(DataRuns, GoOnWithTheSameDataAlone) {
  const testing::TempDir dir;
  const RunConfig config{"dlightsb", "", 0, quick_options("dlightsb")};
  const Fitted fitted = train_run({}, config, low_to_high(), dir.path() / "run", false);
  const auto resume = [&](const FitProblem& problem) {
    return train_run({}, config, problem, dir.path() / "run", true);
  };
  EXPECT_NO_THROW(resume(low_to_high()));
  EXPECT_THAT(error_of<Error>([&] { resume(low_to_high(1)); }),
              HasSubstr("holds a run of other data"));
  const BenchmarkPair pair = build_pair(testing::small_spec());
  EXPECT_THAT(error_of<Error>([&] { resume(pair); }), HasSubstr("holds a run of other data"));
}

TEST(DataRuns, AnyReferenceIsKept) {
  const testing::TempDir dir;
  const Matrix<double> matrix = testing::random_stochastic(8, 0.9, 21);
  const LowRankFactors factors = testing::random_low_rank(8, 3, 1.0, 22);
  const DataEnds ends = *low_to_high().data();
  for (const ReferenceProcess& reference :
       {ReferenceProcess::uniform(8, 0.1 / 3.0, 12), ReferenceProcess::gaussian(8, 0.123456789, 7),
        ReferenceProcess::from_matrix(matrix, 5),
        ReferenceProcess::low_rank(factors.u, factors.v, 0.1, 6),
        ReferenceProcess::birth_death(8, 0.9, 16),
        ReferenceProcess::graph(testing::uneven_ring(8), 0.5, 8)}) {
    const FitProblem problem(ends.x0.states(), ends.x1.states(), reference);
    save_data(problem, dir.path() / kRunData);
    EXPECT_TRUE(same_data(load_data(dir.path() / kRunData), problem));
    EXPECT_FALSE(same_data(low_to_high(), problem));
  }
}

// Read backwards, a bridge without a law of x0 answers with rows of x0 itself, by Bayes' rule.
TEST(DataRuns, ABridgeIsTurnedRound) {
  const FitProblem problem = low_to_high();
  RunConfig config{"dlightsb", "", 0, quick_options("dlightsb")};
  config.options["source"] = "none";
  const testing::TempDir dir;
  const Fitted fitted = train_run({}, config, problem, dir.path() / "run", false);
  const auto reverse = reverse_coupling({}, problem, fitted.coupling);
  const States& rows = problem.data()->x0.states();
  std::map<std::vector<int>, int> known;
  for (std::size_t i = 0; i < rows.rows(); ++i) ++known[{rows(i, 0), rows(i, 1), rows(i, 2)}];
  const States x1 = problem.sample_x1({}, 1, 2);
  // q(x0|x1) in proportion to p0(x0) q(x1|x0).
  std::vector<double> log_q(1), log_back(1);
  double total = 0.0;
  for (const auto& [state, count] : known) {
    const States x0(1, 3, std::vector<std::int32_t>(state.begin(), state.end()));
    fitted.coupling->log_conditional({}, x0, x1, log_q);
    total += count * std::exp(log_q[0]);
  }
  double sum = 0.0;
  for (const auto& [state, count] : known) {
    const States x0(1, 3, std::vector<std::int32_t>(state.begin(), state.end()));
    fitted.coupling->log_conditional({}, x0, x1, log_q);
    reverse->log_conditional({}, x1, x0, log_back);
    EXPECT_NEAR(std::exp(log_back[0]), count * std::exp(log_q[0]) / total, 1e-9);
    sum += std::exp(log_back[0]);
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
  const Fitted independent = find_solver("independent").fit({}, problem, SolverOptions({}), 0);
  EXPECT_THROW(reverse_coupling({}, problem, independent.coupling), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
