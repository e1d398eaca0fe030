#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"
#include "bridgemark/solver/core/training_loop.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/verify/verification.h"
#include "tests/support/cp_problem.h"
#include "tests/support/device_test.h"
#include "tests/support/float_gradient.h"
#include "tests/support/places.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

// A trainer's losses and gradients on every device against the CPU's in float64, and trainings of
// the devices against each other.
namespace bridgemark {
namespace {

using backend::CpTensors;
using testing::CpProblem;
using testing::expect_close;
using testing::kFloatError;

using Loss = std::optional<backend::MatchingLoss>;  // empty: the static one
constexpr Loss kLosses[] = {std::nullopt, backend::MatchingLoss::kKl, backend::MatchingLoss::kMse};

class CpTrainer : public testing::DeviceTest {};
RUN_ON_EVERY_DEVICE(CpTrainer);
using CudaCpTrainer = testing::CudaTest;

ReferenceChain chain_of(Loss loss, const CpProblem& problem) {
  return loss ? problem.chain : ReferenceChain(problem.chain.process(), 1);
}

// Float64 on the CPU.
double exact_loss(Loss loss, const CpProblem& problem, CpTensors<double>& gradient) {
  const Context context{.num_threads = 1};
  const auto tables = make_chain_tables<double>(context, chain_of(loss, problem), problem.steps);
  backend::CpWorkspace<double> workspace;
  gradient = problem.parameters;
  if (!loss) {
    return backend::of(context).static_loss(context, problem.parameters, tables, problem.x0,
                                            problem.x1, gradient, workspace);
  }
  return backend::of(context).matching_loss(context, problem.parameters, tables, *loss, problem.x_n,
                                            problem.x1, problem.n, gradient, workspace);
}

// Rows as CpTrainer::evaluate takes them.
struct Rows {
  States x, x1;
  std::vector<std::int32_t> n;
};

// With rows that are all in state 0, where it draws its own.
backend::CpTrainerPlan plan_of(Loss loss, const ReferenceChain& chain, const StepDraws& steps,
                               const CpTensors<float>& parameters, std::size_t batch_size) {
  backend::CpTrainerPlan plan;
  plan.start = parameters;
  plan.matching = loss;
  plan.batch_size = batch_size;
  plan.chain = make_chain_tables<float>({}, chain, steps);
  plan.x0.cumulative = plan.x1.cumulative =
      Matrix<double>(parameters.dim, parameters.num_categories, 1.0);
  if (loss) plan.pinned = pinned_rows({}, chain, 0, steps);
  return plan;
}

double trainer_loss(const Context& context, Loss loss, const ReferenceChain& chain,
                    const StepDraws& steps, const CpTensors<float>& parameters, const Rows& rows,
                    CpTensors<float>& gradient) {
  const auto trainer = backend::of(context).make_trainer(
      context, plan_of(loss, chain, steps, parameters, rows.x1.rows()));
  return trainer->evaluate(rows.x, rows.x1, rows.n, gradient);
}

void check(const Context& context, const CpProblem& problem, double addends = 1e-3) {
  for (const Loss loss : kLosses) {
    SCOPED_TRACE(loss ? static_cast<int>(*loss) : -1);
    CpTensors<double> exact;
    CpTensors<float> gradient;
    const double expected = exact_loss(loss, problem, exact);
    const Rows rows{loss ? problem.x_n : problem.x0, problem.x1, problem.n};
    EXPECT_NEAR(trainer_loss(context, loss, chain_of(loss, problem), problem.steps,
                             testing::convert<float>(problem.parameters), rows, gradient),
                expected, kFloatError * std::max(1.0, std::abs(expected)));
    expect_close(gradient.log_beta, exact.log_beta, addends);
    expect_close(gradient.log_cores, exact.log_cores, addends);
  }
}

TEST_P(CpTrainer, GradientsAreExact) {
  for (const CpProblem& problem : testing::problems()) check(context(), problem);
}

// Several tiles of components, passes of rows and blocks of categories; the last one also has both
// halves of the components, the second one shorter.
TEST_P(CpTrainer, GradientsAreExactAtSize) {
  check(context(),
        testing::make_problem({ReferenceProcess::gaussian(50, 0.02), 64}, 5, 300, 128, 2.0, 5));
  check(context(),
        testing::make_problem({ReferenceProcess::uniform(70, 0.01), 16}, 18, 70, 200, 2.0, 6));
  check(context(),
        testing::make_problem({ReferenceProcess::gaussian(20, 0.05), 16}, 18, 900, 100, 2.0, 7));
}

TEST_P(CpTrainer, LossesAndGradientsOfReferenceFiles) {
  for (const std::string name : {"dlightsb_0", "dlightsb_1", "dlightsb_2", "dlightsbm_0",
                                 "dlightsbm_1", "csbm_0", "csbm_1"}) {
    SCOPED_TRACE(name);
    const Verification result = verify_file(
        context(), (testing::golden_folder() / fmt::format("{}.safetensors", name)).string());
    EXPECT_GE(result.checks.size(), 3u);
    for (const TensorCheck& check : result.checks) {
      // Only the CPU has float64 as well.
      EXPECT_TRUE(GetParam() == Device::kCpu || check.tensor.ends_with("(float32)"))
          << check.tensor;
      EXPECT_TRUE(check.passed()) << check.tensor << " " << check.max_error;
    }
  }
}

TEST_P(CpTrainer, ExtremeParametersStayExact) {
  for (const double gamma : {0.08, 0.02}) check(context(), testing::extreme_problem(gamma));
}

// One component, whose gradient is 0: what is left of probabilities, about 0.1 for each row, that
// cancel.
TEST_P(CpTrainer, ModelsFarFromTheirTargets) {
  for (double gamma = 0.06; gamma < 0.2; gamma += 0.005) {
    SCOPED_TRACE(gamma);
    check(context(), testing::distant_problem(gamma), 0.1);
  }
}

// So many that DLightSB-M trains them in halves, and few.
constexpr const char *kManyComponents = "components=8200", *kFewComponents = "components=20";

std::vector<double> trained_beta(const std::string& solver, Device device, const char* components,
                                 const char* entropy, const char* average,
                                 const std::string& updates, const TrainingFiles& files = {}) {
  const Solver& chosen = find_solver(solver);
  SolverOptions options(chosen.options());
  for (const char* set : {components, entropy, average, "batch_size=32", "log_every=7",
                          "learning_rate=0.01", "schedule=constant"}) {
    options.set_assignment(set);
  }
  options.set_assignment("updates=" + updates);
  if (solver == "dlightsb-m") options.set_assignment("num_steps=8");
  const Fitted fitted =
      chosen.fit({.device = device}, build_pair(testing::small_spec()), options, 3, files);
  return dynamic_cast<const CpBridge&>(*fitted.coupling).potential().log_beta();
}

// The same draws on both devices, so the same parameters up to rounding.
TEST_F(CudaCpTrainer, TrainsAsTheCpuDoes) {
  for (const char* solver : {"dlightsb", "dlightsb-m"}) {
    for (const char* components : {kFewComponents, kManyComponents}) {
      for (const auto& [entropy, average] :
           {std::pair{"entropy=0", "average=0"}, std::pair{"entropy=0.01", "average=0.5"}}) {
        SCOPED_TRACE(std::string(solver) + " " + components + " " + entropy);
        const std::vector<double> cpu = trained_beta(solver, Device::kCpu, components, entropy,
                                                     average, "40"),
                                  cuda = trained_beta(solver, Device::kCuda, components, entropy,
                                                      average, "40");
        for (std::size_t k = 0; k < cpu.size(); ++k) ASSERT_NEAR(cuda[k], cpu[k], 2e-3) << k;
      }
    }
  }
}

TEST_F(CudaCpTrainer, OutOfMemoryStatesTheNeed) {
  const Solver& solver = find_solver("dlightsb");
  SolverOptions options(solver.options());
  for (const char* set : {"components=200000", "batch_size=1048576", "updates=1"}) {
    options.set_assignment(set);
  }
  try {
    solver.fit({.device = Device::kCuda}, build_pair(testing::small_spec()), options, 3);
    FAIL() << "800 GB were found";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("MiB more are needed"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("lower batch_size"), std::string::npos);
  }
}

// The mean of what the parameters were after the updates that have a share.
TEST_P(CpTrainer, KeepsTheMeanOfItsParameters) {
  const CpProblem problem =
      testing::make_problem({ReferenceProcess::gaussian(12, 0.05), 8}, 3, 40, 16, 1.0, 9);
  for (const Loss loss : kLosses) {
    backend::CpTrainerPlan plan =
        plan_of(loss, chain_of(loss, problem), problem.steps,
                testing::convert<float>(problem.parameters), problem.x1.rows());
    plan.keeps_average = true;
    const auto trainer = backend::of(context()).make_trainer(context(), plan);
    std::vector<double> sum(problem.parameters.log_cores.size(), 0.0);
    int averaged = 0;
    for (int step = 1; step <= 12; ++step) {
      const bool counts = step > 4 && step % 2 == 0;
      averaged += counts;
      double lost = 0.0;
      trainer->run(step, std::vector{backend::CpUpdate{0.05, counts ? 1.0 / averaged : 0.0}},
                   {&lost, 1});
      const CpTensors<float> now = trainer->state().parameters;
      for (std::size_t i = 0; counts && i < sum.size(); ++i) sum[i] += now.log_cores[i];
    }
    const CpTensors<float> average = trainer->state().average;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      ASSERT_NEAR(average.log_cores[i], sum[i] / averaged, 1e-5) << i;
    }
  }
}

// A constant rate and no average, so that a shorter run is the beginning of a longer one.
TEST_P(CpTrainer, ResumesBitForBit) {
  for (const char* solver : {"dlightsb", "dlightsb-m"}) {
    for (const char* components : {kFewComponents, kManyComponents}) {
      SCOPED_TRACE(std::string(solver) + " " + components);
      const testing::TempDir folder;
      const auto train = [&](const char* updates, const TrainingFiles& files) {
        return trained_beta(solver, GetParam(), components, "entropy=0.01", "average=0", updates,
                            files);
      };
      const TrainingFiles files{folder.path() / "checkpoint.safetensors",
                                folder.path() / "log.jsonl"};
      train("30", files);
      EXPECT_EQ(train("60", files), train("60", {}));
    }
  }
}

}  // namespace
}  // namespace bridgemark
