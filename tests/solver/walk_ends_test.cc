#include "bridgemark/solver/csbm/walk_ends.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/csbm/csbm_model.h"
#include "bridgemark/solver/csbm/csbm_recipe.h"
#include "bridgemark/solver/registry.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

// Ends in rows of the right law, but for a share of them that is lost in one corner.
class Walks : public Coupling {
 public:
  Walks(const BenchmarkPair& pair, double lost, bool to_x1 = true)
      : pair_(pair), lost_(lost), to_x1_(to_x1) {}

  std::size_t dim() const override { return pair_.dim(); }
  int num_categories() const override { return pair_.num_categories(); }
  void sample(const Context& context, StatesView from, const DrawKey& key,
              std::uint64_t first_index, MutableStatesView out) const override {
    const std::uint64_t seed = derive_seed(key.seed, key.detail);
    const States ends = to_x1_ ? pair_.sample_x1(context, from.rows, seed, first_index)
                               : pair_.sample_x0(context, from.rows, seed, first_index);
    for (std::size_t i = 0; i < from.rows; ++i) {
      const bool lost = static_cast<double>(i) < lost_ * static_cast<double>(from.rows);
      for (std::size_t d = 0; d < dim(); ++d) out(i, d) = lost ? 0 : ends(i, d);
    }
  }
  std::shared_ptr<const Coupling> reversed() const override {
    return std::make_shared<const Walks>(pair_, to_x1_ ? 0.0 : lost_, !to_x1_);
  }

 private:
  const BenchmarkPair& pair_;
  double lost_;
  bool to_x1_;
};

class WalkEndsOfCouplings : public ::testing::Test {
 protected:
  BenchmarkPair pair_ = load_pair("d2-gaussian-0.05-spread");
  TrainingData data_{{pair_}, "", "", 1};
  WalkEnds ends_{{}, {}, data_, 1};
  Walks right_{pair_, 0.0}, near_{pair_, 0.005}, lost_{pair_, 0.05};
};

TEST_F(WalkEndsOfCouplings, AreKeptWhereWalksArrive) {
  EXPECT_FALSE(ends_.have_kept());  // nothing was looked at
  for (int iteration = 1; iteration <= 4; ++iteration) {
    ends_.look(iteration, iteration % 2 == 0 ? near_ : right_);
  }
  EXPECT_TRUE(ends_.have_kept());
  EXPECT_EQ(ends_.drifted_after(), 0);
}

TEST_F(WalkEndsOfCouplings, AreLostByTheFirstIterationThatLosesThem) {
  ends_.look(1, right_);
  ends_.look(2, near_);
  ends_.look(3, lost_);
  ends_.look(4, right_);
  EXPECT_FALSE(ends_.have_kept());
  EXPECT_EQ(ends_.drifted_after(), 3);
}

TEST_F(WalkEndsOfCouplings, GoOnFromACheckpoint) {
  const testing::TempDir dir;
  const auto through_a_file = [&](const WalkEnds& from) {
    SafetensorsWriter writer;
    from.save(writer);
    writer.write(dir.path() / "state.safetensors");
    WalkEnds to({}, {}, data_, 1);
    to.load(SafetensorsFile::load(dir.path() / "state.safetensors"));
    return to;
  };
  EXPECT_EQ(through_a_file(ends_).drifted_after(), 0);  // before the first look
  ends_.look(1, right_);
  WalkEnds resumed = through_a_file(ends_);
  resumed.look(2, lost_);
  EXPECT_EQ(resumed.drifted_after(), 2);
  EXPECT_EQ(through_a_file(resumed).drifted_after(), 2);
  EXPECT_EQ(through_a_file(resumed).shapes(0), resumed.shapes(0));
}

// A training of three D-IMF iterations whose second counts as drift, whatever it does.
class DriftingCsbm : public WalkEndsOfCouplings {
 protected:
  static constexpr double kAnything = -1.0;

  CsbmModel model(std::optional<double> drift) const {
    const Context context{.num_threads = 1};
    SolverOptions options(find_solver("csbm").options());
    for (const char* assignment :
         {"num_steps=4", "imf_iterations=3", "updates_first=4", "updates_later=4", "batch_size=8",
          "hidden=8", "initial=independent", "learning_rate=0.01"}) {
      options.set_assignment(assignment);
    }
    find_solver("csbm").resolve(options);
    const CsbmRecipe recipe = read_csbm_recipe(options, kCsbmVariant);
    const CsbmTask task{pair_.reference(),
                        pair_.dim(),
                        recipe,
                        data_,
                        1,
                        FirstPairs(context, recipe.first_pairs, pair_.reference(), data_, 1)};
    TwoWaySteps steps = make_two_way_steps(context, task.process, recipe.num_steps);
    auto trainer =
        backend::of(context).make_trainer(context, network_trainer_plan(context, task, steps));
    std::optional<WalkEnds> ends;
    if (drift) ends.emplace(context, context, data_, 1, *drift);
    return {recipe, std::move(steps), std::move(trainer), std::move(ends)};
  }

  // Trains the updates first..last.
  static void train(CsbmModel& model, std::int64_t first, std::int64_t last) {
    std::vector<double> losses(static_cast<std::size_t>(last - first + 1));
    model.updates(first, losses);
  }

  SafetensorsFile checkpoint(const CsbmModel& model) const {
    SafetensorsWriter writer;
    model.save_state(writer);
    writer.write(dir_.path() / "state.safetensors");
    return SafetensorsFile::load(dir_.path() / "state.safetensors");
  }

  std::vector<float> parameters(const CsbmModel& model) const {
    return checkpoint(model).read_floats("forward.parameters");
  }

  const testing::TempDir dir_;
  // The last updates of the iterations, each of which trains one network after the other.
  static constexpr std::int64_t kFirst = 8, kSecond = 16, kThird = 24;
};

TEST_F(DriftingCsbm, UndoesTheIterationAndGoesOnWithFirstPairs) {
  CsbmModel drifting = model(kAnything), steady = model(1.0), unseen = model(std::nullopt);
  for (CsbmModel* each : {&drifting, &steady, &unseen}) train(*each, 1, kFirst);
  const std::vector<float> first = parameters(drifting);
  for (CsbmModel* each : {&drifting, &steady, &unseen}) train(*each, kFirst + 1, kSecond);
  EXPECT_EQ(parameters(drifting), first);
  EXPECT_NE(parameters(steady), first);
  for (CsbmModel* each : {&drifting, &steady, &unseen}) train(*each, kSecond + 1, kThird);
  EXPECT_NE(parameters(drifting), first);
  // Where no drift is seen all is as if nobody had looked.
  EXPECT_EQ(parameters(steady), parameters(unseen));
}

TEST_F(DriftingCsbm, GoesOnFromACheckpointWhereverItLies) {
  CsbmModel whole = model(kAnything);
  train(whole, 1, kThird);
  for (const std::int64_t at : {std::int64_t{3}, kFirst, kFirst + 3, kSecond, kSecond + 5}) {
    SCOPED_TRACE(at);
    CsbmModel before = model(kAnything), after = model(kAnything);
    train(before, 1, at);
    after.load_state(checkpoint(before));
    train(after, at + 1, kThird);
    EXPECT_EQ(parameters(after), parameters(whole));
  }
}

}  // namespace
}  // namespace bridgemark
