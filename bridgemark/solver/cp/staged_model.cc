#include "bridgemark/solver/cp/staged_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/json.h"
#include "bridgemark/solver/core/diagnostics_json.h"
#include "bridgemark/solver/cp/cp_parameters.h"

namespace bridgemark {

namespace {

using EndFn = std::function<StagedEnd(EndedStages)>;

class StagedModel : public PotentialModel {
 public:
  StagedModel(std::string name, std::vector<ModelStage> stages, EndFn end)
      : name_(std::move(name)), stages_(std::move(stages)), end_(std::move(end)) {
    begin_stage();
  }

  std::int64_t most_updates(std::int64_t) const override {
    std::int64_t sum = 0;
    for (const ModelStage& stage : stages_) sum += stage.most;
    return sum;
  }
  bool finished() const override { return ended_.size() == stages_.size(); }
  bool ended_stage() const override { return made_ == 0 || model_->ended_stage(); }
  std::int64_t updates_at_once() const override {
    return model_ ? std::min(model_->updates_at_once(), planned_ - made_) : 1;
  }

  void updates(std::int64_t, std::span<double> losses) override {
    model_->updates(made_ + 1, losses);
    made_ += static_cast<std::int64_t>(losses.size());
    all_made_ += static_cast<std::int64_t>(losses.size());
    if (made_ < planned_ && !model_->finished()) return;
    Diagnostics said = model_->diagnostics();
    said.emplace("updates", made_);
    ended_.push_back({model_->potential(), std::move(said)});
    begin_stage();
  }

  TrainingStage stage(std::int64_t update) const override {
    // Where a stage has just ended, the last update is still its own.
    const bool of_ended = made_ == 0 && update <= all_made_ && !ended_.empty();
    if (of_ended || !model_) return named(ended_.size() - 1, {});
    return named(ended_.size(), model_->stage(update - all_made_ + made_));
  }

  bool has_finite_parameters() const override {
    return model_ ? model_->has_finite_parameters() : PotentialModel::has_finite_parameters();
  }

  backend::CpTensors<float> potential() const override {
    return model_ ? model_->potential() : ended_[end().kept].potential;
  }
  std::shared_ptr<const Coupling> coupling() const override {
    return model_ ? model_->coupling() : end().coupling;
  }
  Diagnostics diagnostics() const override {
    if (model_) return model_->diagnostics();
    Diagnostics all = end().diagnostics;
    all.insert(ended_[end().kept].diagnostics.begin(), ended_[end().kept].diagnostics.end());
    return all;
  }

  void save_state(SafetensorsWriter& writer) const override {
    numbers_ = {static_cast<double>(made_), static_cast<double>(all_made_)};
    for (const auto& [potential, diagnostics] : ended_) {
      numbers_.insert(
          numbers_.end(),
          {static_cast<double>(potential.dim), static_cast<double>(potential.num_categories),
           static_cast<double>(potential.num_components), potential.is_chain ? 1.0 : 0.0});
    }
    writer.add(name_, {numbers_.size()}, std::span<const double>(numbers_));
    for (std::size_t i = 0; i < ended_.size(); ++i) {
      writer.set_metadata(prefix(i), diagnostics_json(ended_[i].diagnostics).dump());
      if (const auto& tree = ended_[i].potential.tree) {
        writer.add(prefix(i) + "tree_parent", {tree->num_nodes()},
                   std::span<const std::int32_t>(tree->parent()));
        writer.add(prefix(i) + "tree_node_of", {tree->dim()},
                   std::span<const std::int32_t>(tree->node_of()));
      }
      each_tensor(prefix(i), ended_[i].potential,
                  [&](const std::string& name, std::span<const float> values) {
                    writer.add(name, {values.size()}, values);
                  });
    }
    if (model_) model_->save_state(writer);
  }

  void load_state(const SafetensorsFile& file) override {
    const std::vector<double> numbers = file.read_doubles(name_);
    if (numbers.size() % kNumbersAStage != 2 || numbers.size() / kNumbersAStage > stages_.size()) {
      throw_file(file.path(), "tensor '{}' must have 2 entries and {} for each stage, got {}",
                 name_, kNumbersAStage, numbers.size());
    }
    ended_.clear();
    for (std::size_t i = 2; i < numbers.size(); i += kNumbersAStage) {
      ended_.push_back(read_stage(file, std::span(numbers).subspan(i, kNumbersAStage)));
    }
    begin_stage();
    all_made_ = static_cast<std::int64_t>(whole(file, numbers[1], 1e15));
    if (!model_) return;
    made_ = static_cast<std::int64_t>(whole(file, numbers[0], static_cast<double>(planned_)));
    model_->load_state(file);
  }

 private:
  static constexpr std::size_t kNumbersAStage = 4;

  std::string prefix(std::size_t stage) const { return fmt::format("{}{}_", name_, stage); }

  std::size_t whole(const SafetensorsFile& file, double value, double most) const {
    if (!(value >= 0.0 && value <= most && std::trunc(value) == value)) {
      throw_file(file.path(), "numbers of '{}' must be whole and in 0..{}, got {}", name_, most,
                 value);
    }
    return static_cast<std::size_t>(value);
  }

  // The next one that ended, in their order.
  EndedStage read_stage(const SafetensorsFile& file, std::span<const double> shape) const {
    constexpr double kLargest = 1 << 24;
    const std::string of_stage = prefix(ended_.size());
    std::shared_ptr<const TreeShape> tree;
    if (file.has(of_stage + "tree_parent")) {
      tree = std::make_shared<const TreeShape>(file.read_int32(of_stage + "tree_parent"),
                                               file.read_int32(of_stage + "tree_node_of"));
    }
    EndedStage stage{backend::CpTensors<float>(
        whole(file, shape[0], kLargest), whole(file, shape[1], kLargest),
        whole(file, shape[2], kLargest), whole(file, shape[3], 1.0) == 1, std::move(tree))};
    each_tensor(of_stage, stage.potential, [&](const std::string& name, auto& values) {
      file.expect_shape(name, {values.size()});
      std::ranges::copy(file.read_floats(name), values.begin());
    });
    const auto said = file.metadata().find(of_stage);
    if (said != file.metadata().end()) {
      stage.diagnostics = read_diagnostics(parse_json(said->second, file.path()));
    }
    return stage;
  }

  TrainingStage named(std::size_t at, TrainingStage of_model) const {
    const std::string& name = stages_[at].name;
    of_model.name = of_model.name.empty() ? name : fmt::format("{}, {}", name, of_model.name);
    of_model.log[name_] = name;
    of_model.last = std::numeric_limits<std::int64_t>::max();  // ended_stage() tells
    return of_model;
  }

  // The next one, none after the last.
  void begin_stage() {
    made_ = 0;
    model_ = finished() ? nullptr : stages_[ended_.size()].begin(ended_);
    planned_ = model_ ? model_->most_updates(stages_[ended_.size()].updates) : 0;
  }

  const StagedEnd& end() const {
    if (!end_of_all_.coupling) end_of_all_ = end_(ended_);
    return end_of_all_;
  }

  std::string name_;
  std::vector<ModelStage> stages_;
  EndFn end_;
  std::vector<EndedStage> ended_;
  std::unique_ptr<PotentialModel> model_;  // of the stage in training; null after the last
  std::int64_t planned_ = 0;               // its updates, at most
  std::int64_t made_ = 0;                  // of them
  std::int64_t all_made_ = 0;              // of all stages so far
  mutable StagedEnd end_of_all_;
  mutable std::vector<double> numbers_;  // of a checkpoint
};

}  // namespace

std::unique_ptr<PotentialModel> make_staged_model(std::string name, std::vector<ModelStage> stages,
                                                  std::function<StagedEnd(EndedStages ended)> end) {
  return std::make_unique<StagedModel>(std::move(name), std::move(stages), std::move(end));
}

}  // namespace bridgemark
