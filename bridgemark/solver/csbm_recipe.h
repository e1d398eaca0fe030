#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/backend/network_training.h"
#include "bridgemark/solver/options.h"

// What CSBM and alpha-CSBM share: their options, the D-IMF schedule and the start.
namespace bridgemark {

enum class Direction { kForward, kBackward };

inline constexpr Direction kDirections[] = {Direction::kForward, Direction::kBackward};

inline Direction other(Direction direction) {
  return direction == Direction::kForward ? Direction::kBackward : Direction::kForward;
}

struct CsbmRecipe {
  int num_steps;
  backend::MatchingLoss loss;
  std::vector<std::size_t> hidden;
  std::size_t category_width;  // 0: categories enter as numbers
  bool optimal_start;          // mini-batch optimal transport instead of independent pairs
  int imf_iterations;
  std::int64_t updates_first;
  std::int64_t updates_later;
  bool both_directions;  // an update trains both
  bool halves;           // an iteration trains backward, then forward; else the updates take turns
  std::size_t batch_size;
  std::size_t points;  // of the pinned reference for each pair
  double learning_rate;
  double weight_decay;
  double ema;
  double checkpoint_seconds;
  std::int64_t log_every;

  // The last update of a D-IMF iteration, both counted from 1.
  std::int64_t last_update(int of_iteration) const {
    return updates_first + (of_iteration - 1) * updates_later;
  }
  std::int64_t updates() const { return last_update(imf_iterations); }

  // The D-IMF iteration of an update.
  int iteration(std::int64_t step) const;

  // What an update trains where it trains one direction.
  Direction direction(std::int64_t step) const;

  // The decay of the average at a network's own update `count`, from 1: it grows towards `ema`, so
  // that the random start is soon forgotten.
  double ema_at(std::int64_t count) const;
};

// Where the two solvers differ.
struct CsbmVariant {
  bool both_directions;  // in one update
  const char* batch_size;
  const char* learning_rate;
};

std::vector<OptionSpec> csbm_options(const CsbmVariant& variant);

// Throws InvalidArgument that names a value out of range.
CsbmRecipe read_csbm_recipe(const SolverOptions& options, const CsbmVariant& variant);

// The optimiser of a network.
inline backend::AdamWSettings csbm_adamw(const CsbmRecipe& recipe) {
  backend::AdamWSettings settings;
  settings.learning_rate = recipe.learning_rate;
  settings.weight_decay = recipe.weight_decay;
  return settings;
}

// Weights and biases uniform within 1 / sqrt(inputs), embeddings standard normal.
backend::NetworkTensors<float> initial_network(const backend::NetworkShape& shape,
                                               Direction direction, std::uint64_t seed);

}  // namespace bridgemark
