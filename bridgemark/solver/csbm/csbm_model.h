#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "bridgemark/backend/network_trainer.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/core/training_loop.h"
#include "bridgemark/solver/csbm/csbm_recipe.h"
#include "bridgemark/solver/csbm/first_pairs.h"
#include "bridgemark/solver/csbm/network_bridge.h"

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

// Both networks before their first update.
backend::NetworkTrainingState initial_networks(const CsbmTask& task);

// The key of the chains drawn through a direction's network.
DrawKey chain_key(std::uint64_t seed, Direction direction);

// CSBM in training, wherever its networks live. Updates are numbered over all D-IMF iterations. In
// the first one the pairs are those of the task; later, one end is drawn and the other sampled
// through the average of the other direction's network. A point between them comes from the pinned
// reference.
class CsbmModel : public Trainable {
 public:
  TrainingStage stage(std::int64_t step) const override;
  void save_state(SafetensorsWriter& writer) const override;
  void load_state(const SafetensorsFile& file) override;

  std::shared_ptr<const NetworkBridge> bridge() const;

 protected:
  CsbmModel(CsbmTask task, TwoWaySteps steps) : task_(std::move(task)), steps_(std::move(steps)) {}

  // The networks as they are; the reference stays valid until the next call.
  virtual const backend::NetworkTrainingState& networks() const = 0;
  virtual void set_networks(backend::NetworkTrainingState networks) = 0;

  const CsbmRecipe& recipe() const { return task_.recipe; }
  const CsbmTask& task() const { return task_; }
  const backend::PinnedSteps& steps(Direction direction) const {
    return direction == Direction::kForward ? *steps_.towards_x1 : *steps_.towards_x0;
  }
  // Counts an update of a direction, from 1.
  std::int64_t count_update(Direction direction) { return ++counts_[direction_index(direction)]; }

 private:
  CsbmTask task_;
  TwoWaySteps steps_;
  std::array<std::int64_t, 2> counts_ = {0, 0};  // updates so far, by direction
};

}  // namespace bridgemark
