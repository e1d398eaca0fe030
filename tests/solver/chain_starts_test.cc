#include "bridgemark/solver/chain/chain_starts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/io/safetensors.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

std::string start_of(const Fitted& fitted) {
  return std::get<std::string>(fitted.diagnostics.at("start"));
}

std::int64_t updates_of(const Fitted& fitted, const char* key) {
  return std::get<std::int64_t>(fitted.diagnostics.at(key));
}

// A chain of one state is a product of coordinates, which three components are not: the mixture
// that the training begins with is nearer, is what is kept, and comes back from its file.
TEST(ChainStarts, TheMixtureIsKeptWhereNoChainIsBetter) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const Fitted fitted = testing::fit_solver(
      "dlightsb-chain", pair, {"states=1", "updates=300", "batch_size=64", "source=none"});
  EXPECT_EQ(start_of(fitted), "mixture alone");
  EXPECT_EQ(updates_of(fitted, "updates"), 120);         // of the mixture
  EXPECT_EQ(updates_of(fitted, "updates_in_all"), 570);  // and of both chains
  const auto* kept = dynamic_cast<const CpBridge*>(fitted.coupling.get());
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->num_components(), 256u);

  const testing::TempDir dir;
  const Solver& solver = find_solver("dlightsb-chain");
  solver.save(*fitted.coupling, dir.path() / "model.safetensors");
  EXPECT_FALSE(SafetensorsFile::load(dir.path() / "model.safetensors").has("log_moves"));
  const auto loaded = solver.load({}, pair, dir.path() / "model.safetensors");
  const States x0 = pair.sample_x0({}, 40, 1), x1 = pair.sample_x1({}, 40, 1);
  std::vector<double> before(40), after(40);
  fitted.coupling->log_conditional({}, x0, x1, before);
  loaded->log_conditional({}, x0, x1, after);
  EXPECT_EQ(before, after);
}

TEST(ChainStarts, OneStartTrainsOneChain) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const Fitted fitted = testing::fit_solver(
      "dlightsb-chain", pair,
      {"states=2", "updates=3", "batch_size=8", "start=samples", "source=none"});
  EXPECT_EQ(fitted.diagnostics.count("start"), 0u);
  EXPECT_EQ(updates_of(fitted, "updates"), 3);
  EXPECT_EQ(fitted.diagnostics.count("updates_in_all"), 0u);
  EXPECT_EQ(dynamic_cast<const CpBridge*>(fitted.coupling.get()), nullptr);
}

}  // namespace
}  // namespace bridgemark
