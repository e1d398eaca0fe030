#include "bridgemark/solver/cp/device_cp_model.h"

#include <utility>
#include <vector>

#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"

namespace bridgemark {

namespace {

class DeviceCpModel : public CpModel {
 public:
  DeviceCpModel(const CpRecipe& recipe, std::unique_ptr<backend::CpTrainer> trainer)
      : recipe_(recipe), trainer_(std::move(trainer)) {}

  double update(const Context& context, std::int64_t step) override {
    double loss = 0.0;
    updates(context, step, {&loss, 1});
    return loss;
  }

  void updates(const Context&, std::int64_t first, std::span<double> losses) override {
    std::vector<double> rates;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      rates.push_back(recipe_.rate_at(first + static_cast<std::int64_t>(i)));
    }
    trainer_->run(first, rates, losses);
  }

  std::int64_t updates_at_once() const override { return 256; }

  void save_state(SafetensorsWriter& writer) const override {
    saved_ = trainer_->state();
    save_cp_state(saved_, writer);
  }

  void load_state(const SafetensorsFile& file) override {
    backend::CpTrainingState state = trainer_->state();
    load_cp_state(file, state);
    trainer_->set_state(state);
  }

  CpPotential potential() const override { return to_potential(trainer_->state().parameters); }

 private:
  CpRecipe recipe_;
  std::unique_ptr<backend::CpTrainer> trainer_;
  mutable backend::CpTrainingState saved_;  // what a checkpoint is written from
};

}  // namespace

std::unique_ptr<CpModel> make_device_cp_model(const Context& host, const CpTask& task,
                                              const CpRecipe& recipe, const TrainingData& data,
                                              backend::CpTensors<float> parameters) {
  backend::CpTrainerPlan plan;
  plan.loss = task.loss;
  plan.batch_size = recipe.batch_size;
  plan.chain = make_chain_tables<float>(host, task.chain, task.steps);
  plan.x0 = data.x0_source(host);
  plan.x1 = data.x1_source(host);
  plan.entropy = recipe.entropy;
  plan.adamw.weight_decay = recipe.weight_decay;
  if (task.loss != backend::CpLoss::kStatic) {
    plan.pinned = pinned_rows(host, task.chain, task.seed, task.steps);
    plan.coupling = task.coupling;
  }
  return std::make_unique<DeviceCpModel>(
      recipe, backend::cuda::make_cp_trainer(std::move(plan), std::move(parameters)));
}

}  // namespace bridgemark
