#include "bridgemark/backend/backend.h"

#include <gtest/gtest.h>

#include <vector>

#include "bridgemark/process/chain_tables.h"
#include "tests/io/io_testing.h"
#include "tests/support/cp_problem.h"
#include "tests/support/network_problem.h"

// A device refuses what it does not have, by name, and nothing runs on another one in silence.
namespace bridgemark {
namespace {

const Context kCuda{.device = Device::kCuda};

// A device that can do nothing.
class BareDevice : public backend::Backend {
 public:
  using Backend::Backend;
};

template <typename Call>
std::string refusal(Call&& call) {
  return testing::error_of<DeviceError>(call);
}

TEST(Backend, WhatADeviceDoesNotHaveIsRefusedByName) {
  const BareDevice cuda(Device::kCuda), cpu(Device::kCpu);
  const testing::CpProblem problem = testing::problems()[0];
  const auto tables = make_chain_tables<double>({}, problem.chain);
  backend::CpTensors<double> gradient = problem.parameters;
  backend::CpWorkspace<double> workspace;
  EXPECT_EQ(refusal([&] {
              cuda.static_loss(kCuda, problem.parameters, tables, problem.x0, problem.x1, gradient,
                               workspace);
            }),
            "[backend] device of static_loss must be cpu, got cuda");
  std::vector<float> values(4);
  EXPECT_EQ(refusal([&] { cuda.average_update(kCuda, 0.1, values, values); }),
            "[backend] device of average_update must be cpu, got cuda");
  EXPECT_EQ(refusal([&] { cpu.allocate_memory(8); }),
            "[backend] device of allocate_memory must be cuda, got cpu");
  EXPECT_EQ(refusal([&] { cpu.make_trainer({}, backend::CpTrainerPlan{}); }),
            "[backend] device of make_trainer must be cuda, got cpu");
}

TEST(Backend, TheCpuHasNoMemoryOfItsOwn) {
  const backend::Backend& cpu = backend::of({});
  cpu.require_device();
  EXPECT_EQ(refusal([&] { cpu.wait({}); }),
            "[backend] device of copy_memory must be cuda, got cpu");
  EXPECT_EQ(refusal([&] { cpu.count_columns({}, {}, 3); }),
            "[backend] device of count_columns must be cuda, got cpu");
}

#ifdef BRIDGEMARK_TEST_CUDA
// In a build with CUDA, on a machine with a GPU or without: none of them asks for one.
TEST(Backend, CudaRefusesWhatOnlyItsTrainersDo) {
  const backend::Backend& cuda = backend::of(kCuda);
  const testing::NetworkProblem problem = testing::network_problems()[0];
  const auto tables = make_chain_tables<double>({}, problem.chain);
  backend::NetworkTensors<double> gradient(problem.parameters.shape);
  backend::NetworkWorkspace<double> workspace;
  EXPECT_EQ(refusal([&] {
              cuda.network_loss(kCuda, problem.parameters, tables, backend::MatchingLoss::kKl,
                                problem.x, problem.clean, problem.steps_left, gradient, workspace);
            }),
            "[backend] device of network_loss must be cpu, got cuda");
  EXPECT_EQ(refusal([&] { cuda.add_bridge_step_kl(kCuda, {}, {}, {}, nullptr); }),
            "[backend] device of add_bridge_step_kl must be cpu, got cuda");
}
#else
TEST(Backend, CudaIsRefusedInABuildWithoutIt) {
  EXPECT_EQ(refusal([] { backend::of(kCuda); }),
            "[device] device must be cpu in this build, got cuda; in the sources, make wheel-cuda "
            "makes a wheel that has CUDA, and cmake --preset cuda a program");
}
#endif

}  // namespace
}  // namespace bridgemark
