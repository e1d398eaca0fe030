#include "bridgemark/solver/csbm/csbm_model.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/process/pinned_reference.h"

namespace bridgemark {

namespace {

using backend::NetworkTensors;

// In a checkpoint: the networks after the last iteration that kept its ends.
constexpr char kKept[] = "kept.";

// All tensors of a training, under names that start with the prefix.
template <typename State, typename Visit>
void each_network_tensor(const std::string& prefix, State& state, Visit&& visit) {
  for (const Direction direction : kDirections) {
    const std::string name = prefix + direction_name(direction);
    auto& network = state[direction_index(direction)];
    visit(name + ".parameters", network.parameters);
    visit(name + ".average", network.average);
    visit(name + ".first", network.first_moment);
    visit(name + ".second", network.second_moment);
  }
}

// Both networks before their first update.
backend::NetworkTrainingState initial_networks(const CsbmTask& task) {
  const backend::NetworkShape shape =
      network_shape(task.dim, task.process.num_categories(), task.recipe);
  backend::NetworkTrainingState state;
  for (const Direction direction : kDirections) {
    state[direction_index(direction)] =
        backend::start_training(initial_network(shape, direction, task.seed));
  }
  return state;
}

// The key of the chains drawn through a direction's network.
DrawKey chain_key(std::uint64_t seed, Direction direction) {
  return {derive_seed(seed, direction_index(direction)), DrawPurpose::kTransition};
}

}  // namespace

backend::NetworkTrainerPlan network_trainer_plan(const Context& host, const CsbmTask& task,
                                                 const TwoWaySteps& steps) {
  const CsbmRecipe& recipe = task.recipe;
  backend::NetworkTrainerPlan plan;
  plan.start = initial_networks(task);
  plan.steps = {steps.towards_x1, steps.towards_x0};
  plan.x0 = task.data.x0_source(host);
  plan.x1 = task.data.x1_source(host);
  plan.first_x0 = task.first_pairs.x0_source(host);
  plan.first_x1 = task.first_pairs.x1_source(host);
  plan.pinned = pinned_rows(host, ReferenceChain(task.process, recipe.num_steps), task.seed);
  for (const Direction direction : kDirections) {
    plan.chain_keys[direction_index(direction)] = chain_key(task.seed, direction);
  }
  plan.batch_size = recipe.batch_size;
  plan.points = recipe.points;
  plan.loss = recipe.loss;
  plan.adamw.weight_decay = recipe.weight_decay;
  plan.both_directions = recipe.both_directions;
  return plan;
}

std::optional<WalkEnds> make_walk_ends(const Context& context, const Context& host,
                                       const CsbmTask& task) {
  if (!task.recipe.keeps_ends) return std::nullopt;
  return WalkEnds(context, host, task.data, task.seed);
}

void add_networks(SafetensorsWriter& writer, const std::string& prefix,
                  const backend::NetworkTrainingState& state) {
  each_network_tensor(
      prefix, state, [&](const std::string& name, const NetworkTensors<float>& tensors) {
        writer.add(name, {tensors.values.size()}, std::span<const float>(tensors.values));
      });
}

void read_networks(const SafetensorsFile& file, const std::string& prefix,
                   backend::NetworkTrainingState& state) {
  each_network_tensor(prefix, state, [&](const std::string& name, NetworkTensors<float>& tensors) {
    file.expect_shape(name, std::vector{tensors.values.size()});
    tensors.values = file.read_floats(name);
  });
}

std::shared_ptr<const Coupling> bridge_of_averages(const TwoWaySteps& steps,
                                                   const backend::NetworkTrainingState& state) {
  const auto average = [&](Direction direction) {
    return std::make_shared<const NetworkTensors<float>>(state[direction_index(direction)].average);
  };
  return std::make_shared<const NetworkBridge>(steps, average(Direction::kForward),
                                               average(Direction::kBackward));
}

void CsbmModel::updates(std::int64_t first, std::span<double> losses) {
  while (!losses.empty()) {
    const int iteration = recipe_.iteration(first);
    const std::int64_t left = recipe_.last_update(iteration) + 1 - first;
    const std::size_t count = std::min(losses.size(), static_cast<std::size_t>(left));
    updates_within(first, losses.first(count));
    if (ends_ && static_cast<std::int64_t>(count) == left) look_at_ends(iteration);
    first += static_cast<std::int64_t>(count);
    losses = losses.subspan(count);
  }
}

void CsbmModel::look_at_ends(int iteration) {
  ends_->look(iteration, *coupling());
  if (ends_->have_kept()) {
    kept_ = trainer_->state();
  } else if (ends_->drifted_after() == iteration) {
    trainer_->set_state(*kept_);
    kept_.reset();
  }
}

void CsbmModel::updates_within(std::int64_t first, std::span<double> losses) {
  const bool drifted = ends_ && ends_->drifted_after() > 0;
  const double share = drifted ? kShareOnDrift : recipe_.first_share;
  std::vector<backend::NetworkUpdate> updates;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::int64_t step = first + static_cast<std::int64_t>(i);
    const bool both = recipe_.both_directions;
    const Direction direction = both ? Direction::kForward : recipe_.direction(step);
    const std::int64_t count = count_update(direction);
    if (both) count_update(Direction::kBackward);
    updates.push_back({recipe_.on_first_pairs(count, share),
                       static_cast<int>(direction_index(direction)), count, recipe_.rate_at(count),
                       recipe_.ema_at(count)});
  }
  trainer_->run(first, updates, losses);
}

TrainingStage CsbmModel::stage(std::int64_t step) const {
  const int iteration = recipe_.iteration(step);
  return {fmt::format("D-IMF iteration {} of {}", iteration, recipe_.imf_iterations),
          recipe_.last_update(iteration),
          {{"imf_iteration", iteration}}};
}

void CsbmModel::save_state(SafetensorsWriter& writer) const {
  saved_ = trainer_->state();
  add_networks(writer, "", saved_);
  writer.add("update_counts", {counts_.size()}, std::span<const std::int64_t>(counts_));
  if (ends_) ends_->save(writer);
  if (kept_) add_networks(writer, kKept, *kept_);
}

void CsbmModel::load_state(const SafetensorsFile& file) {
  backend::NetworkTrainingState state = trainer_->state();
  read_networks(file, "", state);
  file.expect_shape("update_counts", std::vector{counts_.size()});
  const std::vector<std::int32_t> counts = file.read_int32("update_counts");
  std::copy(counts.begin(), counts.end(), counts_.begin());
  if (ends_) ends_->load(file);
  kept_.reset();
  if (ends_ && ends_->have_kept()) {
    kept_ = state;
    read_networks(file, kKept, *kept_);
  }
  trainer_->set_state(state);
}

std::shared_ptr<const Coupling> CsbmModel::coupling() const {
  return bridge_of_averages(steps_, trainer_->state());
}

Diagnostics CsbmModel::diagnostics() const {
  if (!ends_) return {};
  return {{"walk_shapes_forward", ends_->shapes(direction_index(Direction::kForward))},
          {"walk_shapes_backward", ends_->shapes(direction_index(Direction::kBackward))},
          {"drifted_after_iteration", static_cast<std::int64_t>(ends_->drifted_after())}};
}

}  // namespace bridgemark
