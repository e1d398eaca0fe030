#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/solver/core/options.h"
#include "bridgemark/solver/csbm/first_pairs.h"

// What CSBM and alpha-CSBM share: their options, the D-IMF schedule and the start.
namespace bridgemark {

enum class Direction { kForward, kBackward };

inline constexpr Direction kDirections[] = {Direction::kForward, Direction::kBackward};

struct CsbmRecipe {
  // How the learning rate moves: it stays; it falls to 0 along a cosine over the whole training; or
  // it does so in each D-IMF iteration, so that the coupling handed on is free of its noise.
  enum class Schedule { kConstant, kCosine, kRestarts };

  int num_steps;
  backend::MatchingLoss loss;
  std::vector<std::size_t> hidden;
  bool finds_hidden = false;   // its width, on rows that end
  std::size_t category_width;  // 0: categories enter as numbers
  bool reference_last_step;    // as in backend::NetworkShape
  FirstPairsPlan first_pairs;
  int imf_iterations;
  std::int64_t updates_first;  // of each network, in the first iteration
  std::int64_t updates_later;
  double first_share;       // of the later updates, those on first pairs
  bool keeps_ends = false;  // or kShareOnDrift of them, once walks are seen to lose their ends
  bool both_directions;     // an update trains both networks
  std::size_t batch_size;   // pairs for a network in an update
  std::size_t points;       // of the pinned reference for each pair
  double learning_rate;
  Schedule schedule;
  double weight_decay;
  bool finds_weight_decay = false;  // on rows that end
  double ema;
  double checkpoint_seconds;
  std::int64_t log_every;
  std::int64_t validate_every;  // 0: never

  // Updates that train one network while the other is frozen come one after the other.
  std::int64_t passes() const { return both_directions ? 1 : 2; }

  // The last update of a D-IMF iteration, both counted from 1.
  std::int64_t last_update(int of_iteration) const {
    return passes() * (updates_first + (of_iteration - 1) * updates_later);
  }
  std::int64_t updates() const { return last_update(imf_iterations); }

  // The D-IMF iteration of an update.
  int iteration(std::int64_t step) const;

  // What an update trains where it trains one direction: an iteration trains the forward network,
  // then the backward one.
  Direction direction(std::int64_t step) const;

  // Updates of a network in a D-IMF iteration.
  std::int64_t updates_of(int of_iteration) const {
    return of_iteration == 1 ? updates_first : updates_later;
  }

  // Whether a network's own update `count`, from 1, trains on first pairs: all of the first
  // iteration, and of the later ones an even share.
  bool on_first_pairs(std::int64_t count, double share) const;

  // At a network's own update `count`, from 1: the learning rate, and the decay of the average,
  // which grows towards `ema`, so that the random start is soon forgotten.
  double rate_at(std::int64_t count) const;
  double ema_at(std::int64_t count) const;
};

// The name of a direction in files and logs.
inline const char* direction_name(Direction direction) {
  return direction == Direction::kForward ? "forward" : "backward";
}

// Where the two solvers differ.
struct CsbmVariant {
  bool both_directions;  // in one update
  const char* batch_size;
  const char* paper_rate;
};

inline constexpr CsbmVariant kCsbmVariant{false, "128", "0.0001"};
inline constexpr CsbmVariant kAlphaCsbmVariant{true, "64", "0.001"};

// The share of updates on first pairs that brings walks back to their ends.
inline constexpr double kShareOnDrift = 0.5;

// Updates of the first iteration from which on drift is looked for. After fewer, the walks of a
// look cost as much as the training.
inline constexpr std::int64_t kUpdatesBeforeDrift = 1000;

// What rows held out try beside the usual, where the options leave it to them.
inline constexpr double kOtherDecays[] = {1.0, 3.0};
inline constexpr std::size_t kOtherWidths[] = {64, 256};

// recipe=paper: as published. recipe=tuned: what was found on spread pairs (results/csbm).
std::vector<OptionSpec> csbm_options(const CsbmVariant& variant);

// Throws InvalidArgument that names a value out of range.
CsbmRecipe read_csbm_recipe(const SolverOptions& options, const CsbmVariant& variant);

// Of either network, on {0..S-1}^D.
backend::NetworkShape network_shape(std::size_t dim, int num_categories, const CsbmRecipe& recipe);

// Weights and biases uniform within 1 / sqrt(inputs), embeddings standard normal.
backend::NetworkTensors<float> initial_network(const backend::NetworkShape& shape,
                                               Direction direction, std::uint64_t seed);

}  // namespace bridgemark
