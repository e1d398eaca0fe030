#include "bridgemark/solver/csbm/csbm_model.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"

namespace bridgemark {

namespace {

using backend::NetworkTensors;

template <typename State, typename Visit>
void each_tensor(State& state, Visit&& visit) {
  for (const Direction direction : kDirections) {
    const std::string prefix = direction == Direction::kForward ? "forward." : "backward.";
    auto& network = state[direction_index(direction)];
    visit(prefix + "parameters", network.parameters);
    visit(prefix + "average", network.average);
    visit(prefix + "first", network.first_moment);
    visit(prefix + "second", network.second_moment);
  }
}

}  // namespace

backend::NetworkTrainingState initial_networks(const CsbmTask& task) {
  backend::NetworkShape shape;
  shape.dim = task.dim;
  shape.num_categories = static_cast<std::size_t>(task.process.num_categories());
  shape.num_steps = task.recipe.num_steps;
  shape.hidden = task.recipe.hidden;
  shape.category_width = task.recipe.category_width;
  shape.reference_last_step = task.recipe.reference_last_step;
  backend::NetworkTrainingState state;
  for (const Direction direction : kDirections) {
    state[direction_index(direction)] =
        backend::start_training(initial_network(shape, direction, task.seed));
  }
  return state;
}

DrawKey chain_key(std::uint64_t seed, Direction direction) {
  return {derive_seed(seed, direction_index(direction)), DrawPurpose::kTransition};
}

TrainingStage CsbmModel::stage(std::int64_t step) const {
  const int iteration = recipe().iteration(step);
  return {fmt::format("D-IMF iteration {} of {}", iteration, recipe().imf_iterations),
          recipe().last_update(iteration),
          {{"imf_iteration", iteration}}};
}

void CsbmModel::save_state(SafetensorsWriter& writer) const {
  each_tensor(networks(), [&](const std::string& name, const NetworkTensors<float>& tensors) {
    writer.add(name, {tensors.values.size()}, std::span<const float>(tensors.values));
  });
  writer.add("update_counts", {counts_.size()}, std::span<const std::int64_t>(counts_));
}

void CsbmModel::load_state(const SafetensorsFile& file) {
  backend::NetworkTrainingState state = networks();
  each_tensor(state, [&](const std::string& name, NetworkTensors<float>& tensors) {
    file.expect_shape(name, std::vector{tensors.values.size()});
    tensors.values = file.read_floats(name);
  });
  file.expect_shape("update_counts", std::vector{counts_.size()});
  const std::vector<std::int32_t> counts = file.read_int32("update_counts");
  std::copy(counts.begin(), counts.end(), counts_.begin());
  set_networks(std::move(state));
}

std::shared_ptr<const NetworkBridge> CsbmModel::bridge() const {
  const backend::NetworkTrainingState& state = networks();
  const auto average = [&](Direction direction) {
    return std::make_shared<const NetworkTensors<float>>(state[direction_index(direction)].average);
  };
  return std::make_shared<const NetworkBridge>(steps_, average(Direction::kForward),
                                               average(Direction::kBackward));
}

}  // namespace bridgemark
