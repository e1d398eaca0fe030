#include "bridgemark/solver/cp/cp_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/backend/ranks/component_share.h"
#include "bridgemark/core/error.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"
#include "bridgemark/solver/cp/cp_model_file.h"
#include "bridgemark/solver/cp/cp_parameters.h"

namespace bridgemark {

namespace {

class CpModel : public PotentialModel {
 public:
  CpModel(const CpTask& task, const CpRecipe& recipe, const backend::ComponentShare& share,
          std::size_t total, std::unique_ptr<backend::CpTrainer> trainer)
      : chain_(task.chain),
        own_num_steps_(task.matching ? task.chain.num_steps() : 0),
        recipe_(recipe),
        share_(share),
        total_(total),
        trainer_(std::move(trainer)) {}

  void updates(std::int64_t first, std::span<double> losses) override {
    trainer_->run(first, recipe_.updates_from(first, losses.size()), losses);
  }

  std::int64_t updates_at_once() const override { return trainer_->updates_at_once(); }

  bool has_finite_parameters() const override { return trainer_->has_finite_parameters(); }

  void save_state(SafetensorsWriter& writer) const override {
    each_state_tensor(trainer_->state(),
                      [&](const std::string& name, std::span<const float> values) {
                        writer.add(name, {values.size()}, values);
                      });
  }

  void load_state(const SafetensorsFile& file) override { load_shards({&file, 1}); }

  // Shards hold neighbouring ranges of components, which their weights count.
  void load_shards(std::span<const SafetensorsFile> shards) override {
    backend::CpTrainingState state = trainer_->state();
    std::size_t first = 0;
    for (const SafetensorsFile& shard : shards) {
      const std::vector<std::size_t>& shape = shard.shape("log_beta");
      const std::size_t count = shape.size() == 1 ? shape[0] : 0;
      if (count == 0 || count > total_ - first) {
        throw_file(shard.path(), "tensor 'log_beta' has shape [{}], expected [1..{}]",
                   fmt::join(shape, ", "), total_ - first);
      }
      load_shard(shard, {first, count}, state);
      first += count;
    }
    if (first != total_) {
      throw_file(shards.back().path(), "the last shard ends at component {}, expected {}", first,
                 total_);
    }
    trainer_->set_state(std::move(state));
  }

  backend::CpTensors<float> potential() const override { return present(); }

  std::shared_ptr<const Coupling> coupling() const override {
    return bridge_of(chain_.process(), present(), own_num_steps_);
  }

  void save_shared(RankGroup& ranks, const std::filesystem::path& path) const override {
    save_shared_cp_model(ranks, present(), path);
  }

 private:
  // An average that has not begun yet is all zeros.
  bool has_average(const backend::CpTrainingState& state) const {
    const auto is_set = [](float value) { return value != 0.0f; };
    return recipe_.average > 0.0 && (std::ranges::any_of(state.average.log_beta, is_set) ||
                                     std::ranges::any_of(state.average.log_cores, is_set));
  }

  const backend::CpTensors<float>& present() const {
    const backend::CpTrainingState& state = trainer_->state();
    return has_average(state) ? state.average : state.parameters;
  }

  // What of the shard's components is ours. Components are innermost in every tensor.
  void load_shard(const SafetensorsFile& shard, const backend::ComponentShare& held,
                  backend::CpTrainingState& state) const {
    const std::size_t first = std::max(held.first, share_.first),
                      last = std::min(held.first + held.count, share_.first + share_.count);
    each_state_tensor(state, [&](const std::string& name, std::span<float> values) {
      const std::size_t rows = values.size() / share_.count;
      shard.expect_shape(name, std::vector{rows * held.count});
      if (held.count == share_.count && held.first == share_.first) {
        std::ranges::copy(shard.read_floats(name), values.begin());
        return;
      }
      for (std::size_t row = 0; first < last && row < rows; ++row) {
        std::ranges::copy(
            shard.read_floats(name, row * held.count + first - held.first, last - first),
            values.subspan(row * share_.count + first - share_.first).begin());
      }
    });
  }

  ReferenceChain chain_;
  int own_num_steps_;  // the static loss sees no chain: its bridge has no number of its own
  CpRecipe recipe_;
  backend::ComponentShare share_;  // of this rank
  std::size_t total_;              // components of all ranks
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

std::unique_ptr<PotentialModel> make_cp_model(const Context& context, const CpTask& task,
                                              const CpRecipe& recipe, backend::CpTrainerPlan plan) {
  const std::size_t total = context.ranks ? recipe.components : plan.start.num_components;
  return std::make_unique<CpModel>(task, recipe, backend::component_share(context, total), total,
                                   backend::of(context).make_trainer(context, std::move(plan)));
}

}  // namespace bridgemark
