#include "bridgemark/solver/cp/cp_model.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"

namespace bridgemark {

namespace {

// The tensors of a checkpoint.
template <typename State, typename Visit>
void each_tensor(State& state, Visit&& visit) {
  const auto each = [&](const std::string& prefix, auto& tensors) {
    visit(prefix + "log_beta", tensors.log_beta);
    visit(prefix + "log_cores", tensors.log_cores);
    if (tensors.is_chain) visit(prefix + "log_moves", tensors.log_moves);
  };
  each("", state.parameters);
  each("first_", state.first_moment);
  each("second_", state.second_moment);
  if (!state.average.log_beta.empty()) each("average_", state.average);
}

std::shared_ptr<const Bridge> to_bridge(const ReferenceProcess& process,
                                        const backend::CpTensors<float>& parameters,
                                        int own_num_steps) {
  const auto widen = [](std::span<const float> values) {
    return std::vector<double>(values.begin(), values.end());
  };
  const std::size_t D = parameters.dim, S = parameters.num_categories,
                    K = parameters.num_components;
  std::vector<double> log_beta = widen(parameters.log_beta);
  Array3<double> log_cores(D, S, K, widen(parameters.log_cores));
  if (!parameters.is_chain) {
    return std::make_shared<CpBridge>(
        process, CpPotential(std::move(log_beta), std::move(log_cores)), own_num_steps);
  }
  Array3<double> log_moves(D - 1, K, K, widen(parameters.log_moves));
  return std::make_shared<ChainBridge>(
      process, ChainPotential(std::move(log_beta), std::move(log_moves), std::move(log_cores)),
      own_num_steps);
}

class CpModel : public TrainedModel {
 public:
  CpModel(const CpTask& task, const CpRecipe& recipe, std::unique_ptr<backend::CpTrainer> trainer)
      : chain_(task.chain),
        own_num_steps_(task.matching ? task.chain.num_steps() : 0),
        recipe_(recipe),
        trainer_(std::move(trainer)) {}

  void updates(std::int64_t first, std::span<double> losses) override {
    trainer_->run(first, recipe_.updates_from(first, losses.size()), losses);
  }

  std::int64_t updates_at_once() const override { return trainer_->updates_at_once(); }

  bool has_finite_parameters() const override { return trainer_->has_finite_parameters(); }

  void save_state(SafetensorsWriter& writer) const override {
    each_tensor(trainer_->state(), [&](const std::string& name, std::span<const float> values) {
      writer.add(name, {values.size()}, values);
    });
  }

  void load_state(const SafetensorsFile& file) override {
    backend::CpTrainingState state = trainer_->state();
    each_tensor(state, [&](const std::string& name, std::span<float> values) {
      file.expect_shape(name, std::vector{values.size()});
      std::ranges::copy(file.read_floats(name), values.begin());
    });
    trainer_->set_state(std::move(state));
  }

  std::shared_ptr<const Coupling> coupling() const override {
    const backend::CpTrainingState& state = trainer_->state();
    return to_bridge(chain_.process(), recipe_.average > 0.0 ? state.average : state.parameters,
                     own_num_steps_);
  }

 private:
  ReferenceChain chain_;
  int own_num_steps_;  // the static loss sees no chain: its bridge has no number of its own
  CpRecipe recipe_;
  std::unique_ptr<backend::CpTrainer> trainer_;
};

}  // namespace

backend::CpTrainerPlan cp_trainer_plan(const Context& host, const CpTask& task,
                                       const CpRecipe& recipe, const TrainingData& data,
                                       backend::CpTensors<float> start) {
  backend::CpTrainerPlan plan;
  plan.start = std::move(start);
  plan.matching = task.matching;
  plan.batch_size = recipe.batch_size;
  plan.chain = make_chain_tables<float>(host, task.chain, task.steps);
  plan.x0 = data.x0_source(host);
  plan.x1 = data.x1_source(host);
  plan.entropy = recipe.entropy;
  plan.adamw.weight_decay = recipe.weight_decay;
  plan.keeps_average = recipe.average > 0.0;
  if (task.matching) {
    plan.pinned = pinned_rows(host, task.chain, task.seed, task.steps);
    plan.coupling = task.coupling;
  }
  return plan;
}

std::unique_ptr<TrainedModel> make_cp_model(const Context& context, const CpTask& task,
                                            const CpRecipe& recipe, backend::CpTrainerPlan plan) {
  return std::make_unique<CpModel>(task, recipe, backend::make_trainer(context, std::move(plan)));
}

}  // namespace bridgemark
