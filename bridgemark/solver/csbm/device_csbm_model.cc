#include "bridgemark/solver/csbm/device_csbm_model.h"

#include <utility>
#include <vector>

#include "bridgemark/process/pinned_reference.h"

namespace bridgemark {

namespace {

class DeviceCsbmModel : public CsbmModel {
 public:
  DeviceCsbmModel(CsbmTask task, TwoWaySteps steps,
                  std::unique_ptr<backend::NetworkTrainer> trainer)
      : CsbmModel(std::move(task), std::move(steps)), trainer_(std::move(trainer)) {}

  double update(const Context& context, std::int64_t step) override {
    double loss = 0.0;
    updates(context, step, {&loss, 1});
    return loss;
  }

  void updates(const Context&, std::int64_t first, std::span<double> losses) override {
    std::vector<backend::NetworkUpdate> updates;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const std::int64_t step = first + static_cast<std::int64_t>(i);
      const bool both = recipe().both_directions;
      const Direction direction = both ? Direction::kForward : recipe().direction(step);
      const std::int64_t count = count_update(direction);
      if (both) count_update(Direction::kBackward);
      updates.push_back({recipe().iteration(step) == 1,
                         static_cast<int>(direction_index(direction)), count,
                         recipe().rate_at(count), recipe().ema_at(count)});
    }
    trainer_->run(first, updates, losses);
  }

  std::int64_t updates_at_once() const override { return 256; }

 protected:
  const backend::NetworkTrainingState& networks() const override {
    read_ = trainer_->state();
    return read_;
  }
  void set_networks(backend::NetworkTrainingState networks) override {
    trainer_->set_state(networks);
  }

 private:
  std::unique_ptr<backend::NetworkTrainer> trainer_;
  mutable backend::NetworkTrainingState read_;  // what a checkpoint is written from
};

}  // namespace

backend::NetworkTrainerPlan network_trainer_plan(const Context& host, const CsbmTask& task,
                                                 const TwoWaySteps& steps) {
  const CsbmRecipe& recipe = task.recipe;
  backend::NetworkTrainerPlan plan;
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
  plan.adamw = csbm_adamw(recipe, 1);
  plan.both_directions = recipe.both_directions;
  return plan;
}

std::unique_ptr<CsbmModel> make_device_csbm_model(const Context& host, CsbmTask task) {
  TwoWaySteps steps = make_two_way_steps(host, task.process, task.recipe.num_steps);
  auto trainer = backend::cuda::make_network_trainer(network_trainer_plan(host, task, steps),
                                                     initial_networks(task));
  return std::make_unique<DeviceCsbmModel>(std::move(task), std::move(steps), std::move(trainer));
}

}  // namespace bridgemark
