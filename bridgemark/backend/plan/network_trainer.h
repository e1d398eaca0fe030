#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/core/array.h"
#include "bridgemark/math/adamw.h"
#include "bridgemark/math/philox.h"

// A network solver's training kept on a device as a whole: both directions' networks, moments,
// averages and batches stay there, and an update needs nothing of the caller but its description.
namespace bridgemark::backend {

// One direction's network with all that its optimiser keeps.
struct TrainedNetwork {
  NetworkTensors<float> parameters;
  NetworkTensors<float> average;  // what samples, and what is kept
  NetworkTensors<float> first_moment, second_moment;
};

using NetworkTrainingState =
    std::array<TrainedNetwork, 2>;  // by direction: 0 leads from x0 to x1, 1 back

// A network before its first update.
inline TrainedNetwork start_training(NetworkTensors<float> parameters) {
  const NetworkShape shape = parameters.shape;
  return {parameters, parameters, NetworkTensors<float>(shape), NetworkTensors<float>(shape)};
}

struct NetworkTrainerPlan {
  NetworkTrainingState start;
  std::array<std::shared_ptr<const PinnedSteps>, 2> steps;  // by direction; may be the same
  RowSource x0, x1;
  RowSource first_x0, first_x1;       // of updates on first pairs: row i of both is a pair
  PinnedRows pinned;                  // for n = 0..num_steps
  std::array<DrawKey, 2> chain_keys;  // of the chains drawn through a direction's average
  std::size_t batch_size = 0;
  std::size_t points = 1;  // of the pinned reference for each pair
  MatchingLoss loss = MatchingLoss::kKl;
  AdamWSettings adamw;           // but for the rate, which comes with each update
  bool both_directions = false;  // an update trains both, each on rows of its own

  // Rows of all updates follow each other, those of a direction within its update's.
  std::size_t rows_of_update() const { return both_directions ? 2 * batch_size : batch_size; }
  std::size_t first_row(int direction) const {
    return both_directions && direction == 1 ? batch_size : 0;
  }
};

// What a network is matched at: rows in state x with steps_left to their clean end.
struct NetworkPoints {
  States x, clean;  // [rows,D]
  std::vector<std::int32_t> steps_left;
};

// One update: what it trains on and what its optimiser is told.
struct NetworkUpdate {
  bool first_pairs = true;  // else one end is sampled through the other direction's average
  int direction = 0;        // what it trains; not used where it trains both
  std::int64_t count = 1;   // of the direction's updates with this one, for AdamW
  double learning_rate = 0.0;
  double ema = 0.0;  // decay of the average
};

class NetworkTrainer {
 public:
  virtual ~NetworkTrainer() = default;

  // Updates first_step.., counted from 1; losses[i] is the loss before update i, the mean of both
  // directions where it trains both.
  virtual void run(std::int64_t first_step, std::span<const NetworkUpdate> updates,
                   std::span<double> losses) = 0;
  virtual std::int64_t updates_at_once() const = 0;  // how many a run had best be asked for

  // Loss and gradient of a direction at its present parameters for rows of the caller, as
  // network_loss; batch_size * points rows.
  virtual double evaluate(int direction, StatesView x, StatesView clean,
                          std::span<const std::int32_t> steps_left,
                          NetworkTensors<float>& gradient) = 0;

  // The loss of each row at the average of a direction, as network_row_losses, for any number of
  // rows. It changes nothing of the training.
  virtual void average_losses(int direction, StatesView x, StatesView clean,
                              std::span<const std::int32_t> steps_left,
                              std::span<double> losses) = 0;

  virtual bool has_finite_parameters() const = 0;
  virtual NetworkTrainingState state() const = 0;
  virtual void set_state(const NetworkTrainingState& state) = 0;
};

}  // namespace bridgemark::backend
