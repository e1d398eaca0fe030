#include <algorithm>
#include <utility>
#include <vector>

#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/finite_values.h"

namespace bridgemark::backend::cpu {

namespace {

// Rows of both ends, row i of both a pair.
struct Pairs {
  States x0, x1;
};

class CpuNetworkTrainer : public NetworkTrainer {
 public:
  CpuNetworkTrainer(const Backend& cpu, const Context& context, NetworkTrainerPlan plan)
      : cpu_(cpu),
        context_(context),
        plan_(std::move(plan)),
        networks_(std::move(plan_.start)),
        gradient_(networks_[0].parameters.shape) {}

  void run(std::int64_t first_step, std::span<const NetworkUpdate> updates,
           std::span<double> losses) override {
    for (std::size_t i = 0; i < updates.size(); ++i) {
      losses[i] = update(first_step + static_cast<std::int64_t>(i), updates[i]);
    }
  }

  std::int64_t updates_at_once() const override { return 1; }

  double evaluate(int direction, StatesView x, StatesView clean,
                  std::span<const std::int32_t> steps_left,
                  NetworkTensors<float>& gradient) override {
    const double loss = loss_and_gradient(direction, x, clean, steps_left);
    gradient = gradient_;
    return loss;
  }

  void average_losses(int direction, StatesView x, StatesView clean,
                      std::span<const std::int32_t> steps_left, std::span<double> losses) override {
    const auto i = static_cast<std::size_t>(direction);
    cpu_.network_row_losses(context_, networks_[i].average, plan_.steps[i]->chain, plan_.loss, x,
                            clean, steps_left, training_, losses);
  }

  bool has_finite_parameters() const override {
    return all_finite(networks_[0].parameters.values) && all_finite(networks_[1].parameters.values);
  }
  NetworkTrainingState state() const override { return networks_; }
  void set_state(const NetworkTrainingState& state) override { networks_ = state; }

 private:
  double update(std::int64_t step, const NetworkUpdate& update) {
    if (!plan_.both_directions) {
      return train(update.direction, step, update, pairs(update.direction, step, update));
    }
    // Both couplings come from the networks before the update.
    const Pairs forward = pairs(0, step, update), backward = pairs(1, step, update);
    return 0.5 * (train(0, step, update, forward) + train(1, step, update, backward));
  }

  std::uint64_t first_row(std::int64_t step, int direction) const {
    return static_cast<std::uint64_t>(step - 1) * plan_.rows_of_update() +
           plan_.first_row(direction);
  }

  States draw(const RowSource& source, std::uint64_t first) const {
    States rows(plan_.batch_size, shape().dim);
    cpu_.draw_rows(context_, source, first, rows);
    return rows;
  }

  // The pairs that a direction trains on.
  Pairs pairs(int direction, std::int64_t step, const NetworkUpdate& update) {
    const std::uint64_t first = first_row(step, direction);
    if (update.first_pairs) return {draw(plan_.first_x0, first), draw(plan_.first_x1, first)};
    const auto sampler = static_cast<std::size_t>(1 - direction);
    const bool to_x1 = sampler == 0;
    States known = draw(to_x1 ? plan_.x0 : plan_.x1, first);
    States drawn(known.rows(), known.cols());
    cpu_.sample_network_chain(context_, networks_[sampler].average, *plan_.steps[sampler],
                              shape().num_steps, shape().num_steps, known,
                              plan_.chain_keys[sampler], first, drawn, sampling_);
    return to_x1 ? Pairs{std::move(known), std::move(drawn)}
                 : Pairs{std::move(drawn), std::move(known)};
  }

  double train(int direction, std::int64_t step, const NetworkUpdate& update, const Pairs& drawn) {
    const NetworkPoints at =
        cpu_.draw_network_points(context_, plan_.pinned, direction, drawn.x0, drawn.x1,
                                 plan_.points, first_row(step, direction) * plan_.points);
    const double loss = loss_and_gradient(direction, at.x, at.clean, at.steps_left);
    TrainedNetwork& network = networks_[static_cast<std::size_t>(direction)];
    AdamWSettings settings = plan_.adamw;
    settings.learning_rate = update.learning_rate;
    cpu_.adamw_update(context_, settings, update.count, gradient_.values, network.parameters.values,
                      network.first_moment.values, network.second_moment.values);
    cpu_.average_update(context_, 1.0 - update.ema, network.parameters.values,
                        network.average.values);
    return loss;
  }

  double loss_and_gradient(int direction, StatesView x, StatesView clean,
                           std::span<const std::int32_t> steps_left) {
    const auto i = static_cast<std::size_t>(direction);
    return cpu_.network_loss(context_, networks_[i].parameters, plan_.steps[i]->chain, plan_.loss,
                             x, clean, steps_left, gradient_, training_);
  }

  const NetworkShape& shape() const { return gradient_.shape; }

  const Backend& cpu_;
  Context context_;
  NetworkTrainerPlan plan_;
  NetworkTrainingState networks_;
  NetworkTensors<float> gradient_;
  NetworkWorkspace<float> training_, sampling_;
};

}  // namespace

std::unique_ptr<NetworkTrainer> CpuBackend::make_trainer(const Context& context,
                                                         NetworkTrainerPlan plan) const {
  return std::make_unique<CpuNetworkTrainer>(*this, context, std::move(plan));
}

}  // namespace bridgemark::backend::cpu
