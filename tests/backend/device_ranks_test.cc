#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/solver/registry.h"
#include "tests/support/device_test.h"
#include "tests/support/small_pair.h"
#include "tests/support/thread_ranks.h"

// The exchange between GPUs, with one of them: the sums go through NCCL and come back the same.
namespace bridgemark {
namespace {

// Graphs of eight updates and three updates after them.
constexpr int kUpdates = 43, kBatch = 32;

struct Trained {
  std::vector<double> log_beta, log_cores;
};

Trained train(const Context& context, const char* entropy) {
  const Solver& solver = find_solver("dlightsb");
  SolverOptions options(solver.options());
  for (const std::string& set :
       {std::string("components=300"), std::string(entropy), std::string("learning_rate=0.01"),
        "batch_size=" + std::to_string(kBatch), "updates=" + std::to_string(kUpdates)}) {
    options.set_assignment(set);
  }
  const Fitted fitted = solver.fit(context, build_pair(testing::small_spec()), options, 3);
  const CpPotential& potential = dynamic_cast<const CpBridge&>(*fitted.coupling).potential();
  const Array3<double>& cores = potential.log_cores();
  return {potential.log_beta(), {cores.data(), cores.data() + cores.size()}};
}

class CudaRanks : public testing::CudaTest {};

TEST_F(CudaRanks, OneRankTrainsAsNoneDoes) {
  for (const char* entropy : {"entropy=0", "entropy=0.01"}) {
    SCOPED_TRACE(entropy);
    const Trained alone = train({.device = Device::kCuda, .num_threads = 1}, entropy);
    Trained ranked;
    std::uint64_t bytes = 0;
    try {
      testing::on_ranks(1, [&](std::shared_ptr<RankGroup> group) {
        ranked = train({.device = Device::kCuda, .num_threads = 1, .ranks = group}, entropy);
        bytes = group->bytes_exchanged();
      });
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();  // no NCCL in this build or on this machine
    }
    for (std::size_t i = 0; i < alone.log_beta.size(); ++i) {
      ASSERT_NEAR(ranked.log_beta[i], alone.log_beta[i], 1e-4) << i;
    }
    for (std::size_t i = 0; i < alone.log_cores.size(); ++i) {
      ASSERT_NEAR(ranked.log_cores[i], alone.log_cores[i], 2e-3) << i;
    }
    // Two numbers for each side of a row and three of the entropy, beside what the loop votes on.
    const std::uint64_t numbers = 4 * kBatch + (std::string(entropy) == "entropy=0" ? 0 : 3);
    EXPECT_GE(bytes, kUpdates * numbers * sizeof(double));
    EXPECT_LT(bytes, kUpdates * (numbers + 4) * sizeof(double) + 256);
  }
}

}  // namespace
}  // namespace bridgemark
