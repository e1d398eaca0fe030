#include "bridgemark/solver/csbm/network_stage.h"

#include <fmt/format.h>

#include <cmath>

#include "bridgemark/core/error.h"

namespace bridgemark {

NetworkStage stage_of_recipe(const CsbmRecipe& recipe, std::size_t i) {
  const auto passes = static_cast<std::size_t>(recipe.passes());
  return {.iteration = static_cast<int>(i / passes) + 1, .direction = kDirections[i % passes]};
}

std::string stage_name(const CsbmRecipe& recipe, const NetworkStage& stage) {
  return recipe.both_directions
             ? fmt::format("{}", stage.iteration)
             : fmt::format("{}_{}", stage.iteration, direction_name(stage.direction));
}

void append_stage(const NetworkStage& stage, std::vector<double>& table) {
  table.insert(table.end(),
               {static_cast<double>(stage.updates), static_cast<double>(stage.best_update),
                stage.value, stage.error, stage.training});
}

NetworkStage read_stage(const SafetensorsFile& file, const CsbmRecipe& recipe,
                        std::span<const double> row, std::size_t i) {
  NetworkStage stage = stage_of_recipe(recipe, i);
  const auto most = static_cast<double>(recipe.updates_of(stage.iteration));
  stage.updates = read_whole(file, row[0], most);
  stage.best_update = read_whole(file, row[1], static_cast<double>(stage.updates));
  stage.value = row[2];
  stage.error = row[3];
  stage.training = row[4];
  return stage;
}

std::int64_t read_whole(const SafetensorsFile& file, double value, double most) {
  if (!(value >= 0.0 && value <= most && std::trunc(value) == value)) {
    throw_file(file.path(), "a held-out number must be whole and in 0..{}, got {}", most, value);
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace bridgemark
