#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/solver/registry.h"
#include "tests/support/chain_problem.h"
#include "tests/support/device_test.h"
#include "tests/support/float_gradient.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

// A trainer's losses and gradients on every device against the CPU's in float64, and trainings of
// the devices against each other.
namespace bridgemark {
namespace {

using backend::CpTensors;
using testing::ChainProblem;
using testing::expect_close;
using testing::kFloatError;

class ChainTrainer : public testing::DeviceTest {};
RUN_ON_EVERY_DEVICE(ChainTrainer);
using CudaChainTrainer = testing::CudaTest;

void check(const Context& context, const ChainProblem& problem) {
  const ReferenceChain reference(problem.process, 1);
  // What float32 holds, so that only the sums are judged.
  const CpTensors<float> parameters = testing::convert<float>(problem.parameters);
  CpTensors<double> exact = problem.parameters;
  backend::ChainWorkspace<double> workspace;
  const double expected = backend::of({.num_threads = 1})
                              .chain_loss({.num_threads = 1}, testing::convert<double>(parameters),
                                          make_chain_tables<double>({}, reference), problem.x0,
                                          problem.x1, exact, workspace);

  backend::CpTrainerPlan plan;
  plan.start = parameters;
  plan.batch_size = problem.x1.rows();
  plan.chain = make_chain_tables<float>({}, reference);
  plan.x0.cumulative = plan.x1.cumulative =
      Matrix<double>(parameters.dim, parameters.num_categories, 1.0);
  CpTensors<float> gradient;
  const double loss = backend::of(context)
                          .make_trainer(context, plan)
                          ->evaluate(problem.x0, problem.x1, {}, gradient);
  EXPECT_NEAR(loss, expected, kFloatError * std::max(1.0, std::abs(expected)));
  expect_close(gradient.log_beta, exact.log_beta);
  expect_close(gradient.log_moves, exact.log_moves);
  expect_close(gradient.log_cores, exact.log_cores);
}

TEST_P(ChainTrainer, GradientsAreExact) {
  for (const ChainProblem& problem : testing::chain_problems()) check(context(), problem);
}

// The default size, and states and categories beyond the blocks of the kernels.
TEST_P(ChainTrainer, GradientsAreExactAtSize) {
  check(context(),
        testing::make_chain_problem(ReferenceProcess::gaussian(50, 0.02), 64, 32, 128, 2.0, 5));
  check(context(),
        testing::make_chain_problem(ReferenceProcess::uniform(70, 0.01), 9, 70, 300, 2.0, 6));
}

TEST_P(ChainTrainer, ExtremeParametersStayExact) {
  for (const double spread : {10.0, 60.0, 250.0}) {
    SCOPED_TRACE(spread);
    check(context(), testing::extreme_chain_problem(spread));
  }
}

// Cores, then moves.
std::vector<double> trained(Device device, const char* average, const std::string& updates,
                            const TrainingFiles& files = {}) {
  const Solver& solver = find_solver("dlightsb-chain");
  SolverOptions options(solver.options());
  for (const char* set : {"states=20", "start=samples", "batch_size=32", "log_every=7", average,
                          "schedule=constant"}) {
    options.set_assignment(set);
  }
  options.set_assignment("updates=" + updates);
  const Fitted fitted =
      solver.fit({.device = device}, build_pair(testing::small_spec()), options, 3, files);
  const ChainPotential& potential = dynamic_cast<const ChainBridge&>(*fitted.coupling).potential();
  const Array3<double>&cores = potential.log_cores(), &moves = potential.log_moves();
  std::vector<double> parameters(cores.data(), cores.data() + cores.size());
  parameters.insert(parameters.end(), moves.data(), moves.data() + moves.size());
  return parameters;
}

// The same draws on both devices, so the same parameters up to rounding.
TEST_F(CudaChainTrainer, TrainsAsTheCpuDoes) {
  for (const char* average : {"average=0", "average=0.5"}) {
    const std::vector<double> cpu = trained(Device::kCpu, average, "40"),
                              cuda = trained(Device::kCuda, average, "40");
    for (std::size_t i = 0; i < cpu.size(); ++i) ASSERT_NEAR(cuda[i], cpu[i], 2e-3) << i;
  }
}

// A constant rate and no average, so that a shorter run is the beginning of a longer one.
TEST_P(ChainTrainer, ResumesBitForBit) {
  const testing::TempDir folder;
  const TrainingFiles files{folder.path() / "checkpoint.safetensors", folder.path() / "log.jsonl"};
  const char* none = "average=0";
  trained(GetParam(), none, "30", files);
  EXPECT_EQ(trained(GetParam(), none, "60", files), trained(GetParam(), none, "60"));
}

}  // namespace
}  // namespace bridgemark
