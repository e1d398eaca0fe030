#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/io/safetensors.h"
#include "bridgemark/solver/csbm/csbm_recipe.h"

// A stage of a training that rows held out stop, and stages in a checkpoint.
namespace bridgemark {

// The highest held-out loss: a checkpoint holds finite numbers.
inline constexpr double kHighestLoss = 1e300;

struct NetworkStage {
  int iteration = 1;
  Direction direction = Direction::kForward;  // not used where both are trained
  std::int64_t updates = 0;                   // made so far
  std::int64_t best_update = 0;
  double value = kHighestLoss, error = 0.0;  // the held-out loss at its best
  double training = 0.0;                     // the loss there on rows trained on
};

// Stage i of a training, in the order of iterations and directions.
NetworkStage stage_of_recipe(const CsbmRecipe& recipe, std::size_t i);

// "2_forward", or "2" where both directions are trained.
std::string stage_name(const CsbmRecipe& recipe, const NetworkStage& stage);

// What a checkpoint says of stages, kStageNumbers each, but for their place.
inline constexpr std::size_t kStageNumbers = 5;
void append_stage(const NetworkStage& stage, std::vector<double>& table);
// Throws FileError for numbers that cannot be.
NetworkStage read_stage(const SafetensorsFile& file, const CsbmRecipe& recipe,
                        std::span<const double> row, std::size_t i);

// A whole number of a checkpoint in 0..most. Throws FileError for any other.
std::int64_t read_whole(const SafetensorsFile& file, double value, double most);

}  // namespace bridgemark
