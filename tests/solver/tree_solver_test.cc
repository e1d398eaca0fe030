#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bridgemark/bridge/tree_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "tests/io/io_testing.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using testing::error_of;

// 2 x 2 coordinates of 11 categories under a quadtree.
BenchmarkPair tree_pair() {
  PairSpec spec = testing::small_spec();
  spec.family = PairFamily::kTree;
  spec.dim = 4;
  spec.num_categories = 11;
  spec.tree = TreeShape::quadtree(2);
  spec.switch_rate = 0.3;
  return build_pair(spec);
}

// The mean of log q* - log q over fresh rows of the truth.
double tree_kl(const BenchmarkPair& pair, const Coupling& coupling) {
  const PairedStates rows = pair.sample_joint({}, 4000, 5);
  std::vector<double> truth(4000), model(4000);
  pair.bridge().log_conditional({}, rows.x0, rows.x1, truth);
  coupling.log_conditional({}, rows.x0, rows.x1, model);
  double sum = 0.0;
  for (std::size_t b = 0; b < truth.size(); ++b) sum += truth[b] - model[b];
  return sum / static_cast<double>(truth.size());
}

std::vector<std::string> quick_tree(const std::string& updates) {
  return {"tree=quadtree",     "states=6",           "start=samples",
          "source=none",       "batch_size=128",     "average=0.5",
          "schedule=constant", "learning_rate=0.03", "updates=" + updates};
}

TEST(TreeSolver, LearnsATreeAndIsReadBack) {
  const BenchmarkPair pair = tree_pair();
  const Fitted fitted = testing::fit_solver("dlightsb-tree", pair, quick_tree("400"));
  ASSERT_NE(dynamic_cast<const TreeBridge*>(fitted.coupling.get()), nullptr);
  EXPECT_LT(tree_kl(pair, *fitted.coupling), 0.1);

  const testing::TempDir dir;
  const Solver& solver = find_solver("dlightsb-tree");
  solver.save(*fitted.coupling, dir.path() / "model.safetensors");
  const auto loaded = solver.load({}, pair, dir.path() / "model.safetensors");
  const States x0 = pair.sample_x0({}, 40, 1), x1 = pair.sample_x1({}, 40, 1);
  std::vector<double> before(40), after(40);
  fitted.coupling->log_conditional({}, x0, x1, before);
  loaded->log_conditional({}, x0, x1, after);
  EXPECT_EQ(before, after);
}

// With its law of x0, which answers x0 given x1 as before.
TEST(TreeSolver, ReadsAHiddenChainOfX0Back) {
  const BenchmarkPair pair = tree_pair();
  const Fitted fitted = testing::fit_solver(
      "dlightsb-tree", pair,
      {"tree=quadtree", "states=3", "start=samples", "source=chain", "updates=5", "batch_size=16"});
  const testing::TempDir dir;
  const Solver& solver = find_solver("dlightsb-tree");
  solver.save(*fitted.coupling, dir.path() / "model.safetensors");
  const auto loaded = std::dynamic_pointer_cast<const Bridge>(
      solver.load({}, pair, dir.path() / "model.safetensors"));
  ASSERT_NE(loaded->tree(), nullptr);
  const SourceLaw *before = dynamic_cast<const Bridge&>(*fitted.coupling).source(),
                  *after = loaded->source();
  ASSERT_NE(after, nullptr);
  ASSERT_NE(after->chain(), nullptr);
  EXPECT_EQ(after->log_weights(), before->log_weights());
  EXPECT_EQ(after->log_moves(), before->log_moves());
  EXPECT_EQ(after->log_cores(), before->log_cores());
  const States x1 = pair.sample_x1({}, 40, 1);
  States of_fitted(40, 4), of_loaded(40, 4);
  const auto draw = [&](std::shared_ptr<const Coupling> coupling, States& x0) {
    learned_reverse({}, pair, coupling)->sample({}, x1, {3, DrawPurpose::kConditional}, 0, x0);
  };
  draw(fitted.coupling, of_fitted);
  draw(loaded, of_loaded);
  EXPECT_EQ(of_loaded, of_fitted);
}

// Through all three stages of start=both, of which a checkpoint holds those that ended.
TEST(TreeSolver, ResumesBitForBit) {
  const BenchmarkPair pair = tree_pair();
  const testing::TempDir dir;
  const TrainingFiles files{dir.path() / "checkpoint.safetensors", dir.path() / "log.jsonl"};
  const Solver& solver = find_solver("dlightsb-tree");
  const auto fit = [&](const Context& context, const TrainingFiles& kept) {
    SolverOptions options(solver.options());
    for (const char* set : {"tree=binary", "states=3", "updates=20", "batch_size=16",
                            "checkpoint_every=0", "source=none"}) {
      options.set_assignment(set);
    }
    return solver.fit(context, pair, options, 3, kept);
  };
  std::vector<double> whole(40), resumed(40);
  const States x0 = pair.sample_x0({}, 40, 1), x1 = pair.sample_x1({}, 40, 1);
  fit({}, {}).coupling->log_conditional({}, x0, x1, whole);
  int updates = 0;
  const Context stopping{.stop = [&] { return ++updates > 25; }};  // in the second or third stage
  EXPECT_THROW(fit(stopping, files), Interrupted);
  fit({}, files).coupling->log_conditional({}, x0, x1, resumed);
  EXPECT_EQ(resumed, whole);
}

TEST(TreeSolver, RefusesWhatItCannotDo) {
  const BenchmarkPair pair = build_pair(testing::small_spec());  // D = 2 is no square
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                testing::fit_solver("dlightsb-tree", pair, {"tree=quadtree", "updates=1"});
              }),
              ::testing::HasSubstr("dim must be a square"));
  EXPECT_THAT(error_of<DeviceError>([&] {
                const Solver& solver = find_solver("dlightsb-tree");
                solver.check({.device = Device::kCuda}, pair, SolverOptions(solver.options()));
              }),
              ::testing::HasSubstr("must be cpu"));
}

}  // namespace
}  // namespace bridgemark
