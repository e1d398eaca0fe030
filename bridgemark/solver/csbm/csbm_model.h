#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/solver/core/trained_solver.h"
#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/csbm/csbm_recipe.h"
#include "bridgemark/solver/csbm/first_pairs.h"
#include "bridgemark/solver/csbm/network_bridge.h"
#include "bridgemark/solver/csbm/walk_ends.h"

namespace bridgemark {

inline std::size_t direction_index(Direction direction) {
  return static_cast<std::size_t>(direction);
}

// What a model of CSBM is made from.
struct CsbmTask {
  ReferenceProcess process;
  std::size_t dim;
  CsbmRecipe recipe;
  TrainingData data;
  std::uint64_t seed;
  FirstPairs first_pairs;  // of the first D-IMF iteration
};

// The training as a device takes it, with the steps of its chains. `host` is a CPU context.
backend::NetworkTrainerPlan network_trainer_plan(const Context& host, const CsbmTask& task,
                                                 const TwoWaySteps& steps);

// What looks at the walks of a training whose recipe asks for it; else nothing.
std::optional<WalkEnds> make_walk_ends(const Context& context, const Context& host,
                                       const CsbmTask& task);

// A training's tensors in a checkpoint, under names that start with the prefix. `state` must have
// the shapes of the file's and outlive the writer.
void add_networks(SafetensorsWriter& writer, const std::string& prefix,
                  const backend::NetworkTrainingState& state);
void read_networks(const SafetensorsFile& file, const std::string& prefix,
                   backend::NetworkTrainingState& state);

// The coupling that a training is at: the averages of both directions.
std::shared_ptr<const Coupling> bridge_of_averages(const TwoWaySteps& steps,
                                                   const backend::NetworkTrainingState& state);

// CSBM in training. Updates are numbered over all D-IMF iterations. In the first one the pairs are
// those of the task; later, one end is drawn and the other sampled through the average of the other
// direction's network. A point between them comes from the pinned reference.
class CsbmModel : public TrainedModel {
 public:
  // Walks are looked at where `ends` is given.
  CsbmModel(const CsbmRecipe& recipe, TwoWaySteps steps,
            std::unique_ptr<backend::NetworkTrainer> trainer,
            std::optional<WalkEnds> ends = std::nullopt)
      : recipe_(recipe),
        steps_(std::move(steps)),
        trainer_(std::move(trainer)),
        ends_(std::move(ends)) {}

  void updates(std::int64_t first, std::span<double> losses) override;
  std::int64_t updates_at_once() const override { return trainer_->updates_at_once(); }
  TrainingStage stage(std::int64_t step) const override;
  bool has_finite_parameters() const override { return trainer_->has_finite_parameters(); }
  void save_state(SafetensorsWriter& writer) const override;
  void load_state(const SafetensorsFile& file) override;
  std::shared_ptr<const Coupling> coupling() const override;
  Diagnostics diagnostics() const override;

 private:
  // After a D-IMF iteration: one that is the first to lose its ends is undone.
  void look_at_ends(int iteration);

  // Updates of one D-IMF iteration.
  void updates_within(std::int64_t first, std::span<double> losses);

  // Counts an update of a direction, from 1.
  std::int64_t count_update(Direction direction) { return ++counts_[direction_index(direction)]; }

  CsbmRecipe recipe_;
  TwoWaySteps steps_;
  std::unique_ptr<backend::NetworkTrainer> trainer_;
  std::optional<WalkEnds> ends_;
  std::optional<backend::NetworkTrainingState> kept_;  // of the last iteration that kept its ends
  std::array<std::int64_t, 2> counts_ = {0, 0};        // updates so far, by direction
  mutable backend::NetworkTrainingState saved_;        // what a checkpoint is written from
};

}  // namespace bridgemark
