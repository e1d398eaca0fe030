#include "bridgemark/backend/cpu/host_only.h"

#include <gtest/gtest.h>

#include <vector>

#include "bridgemark/backend/optimizer.h"
#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/process/chain_tables.h"
#include "tests/support/cp_problem.h"
#include "tests/support/network_problem.h"

// Operations that only the CPU has by themselves refuse another device instead of running on the
// CPU in silence.
namespace bridgemark {
namespace {

const Context kCuda{.device = Device::kCuda};

TEST(HostOnly, LossesOfCpSolvers) {
  const testing::CpProblem problem = testing::problems()[0];
  const auto tables = make_chain_tables<double>({}, problem.chain);
  backend::CpTensors<double> gradient = problem.parameters;
  backend::CpWorkspace<double> workspace;
  EXPECT_THROW(backend::static_loss<double>(kCuda, problem.parameters, tables, problem.x0,
                                            problem.x1, gradient, workspace),
               DeviceError);
  EXPECT_THROW(
      backend::matching_loss<double>(kCuda, problem.parameters, tables, backend::MatchingLoss::kKl,
                                     problem.x_n, problem.x1, problem.n, gradient, workspace),
      DeviceError);
}

TEST(HostOnly, LossOfNetworks) {
  const testing::NetworkProblem problem = testing::network_problems()[0];
  const auto tables = make_chain_tables<double>({}, problem.chain);
  backend::NetworkTensors<double> gradient(problem.parameters.shape);
  backend::NetworkWorkspace<double> workspace;
  EXPECT_THROW(backend::network_loss<double>(kCuda, problem.parameters, tables,
                                             backend::MatchingLoss::kKl, problem.x, problem.clean,
                                             problem.steps_left, gradient, workspace),
               DeviceError);
}

TEST(HostOnly, Optimiser) {
  std::vector<float> values(4), first(4), second(4);
  EXPECT_THROW(backend::adamw_update(kCuda, {}, 1, values, values, first, second), DeviceError);
  EXPECT_THROW(backend::average_update(kCuda, 0.1, values, first), DeviceError);
}

}  // namespace
}  // namespace bridgemark
