#include "bridgemark/solver/cp/held_out_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/metric/held_out_objective.h"
#include "bridgemark/solver/cp/component_merge.h"
#include "bridgemark/solver/cp/core_finish.h"
#include "bridgemark/solver/cp/cp_parameters.h"

namespace bridgemark {

namespace {

using Tensors = backend::CpTensors<float>;

// Of either end: at a look, and where two potentials are compared, which is done less often.
constexpr std::size_t kMostRowsPerLook = 4096;
constexpr std::size_t kMostRowsCompared = 32768;
constexpr std::size_t kSizes[] = {kLargestSearched, 16, 12, 8, 6, 4, 3, 2, 1};
constexpr double kFarBelow = 4.0;  // standard errors below the best that end the search
// A chain whose states were merged starts near its best, and a high rate throws it off: the share
// of the first size's rate that the others have.
constexpr double kLaterRate = 0.25;
constexpr double kLowest = -1e300;  // of an objective: a checkpoint holds finite numbers

// The training of one size.
struct Rung {
  std::size_t components = 0;
  std::int64_t updates = 0;  // made so far
  std::int64_t best_update = 0;
  double value = 0.0, error = 0.0;  // of the held-out objective at its best
  CoreFinish finish = {};
};

StatesView first_rows(const States& states, std::size_t most) {
  return states.view().slice(0, std::min(states.rows(), most));
}

class HeldOutModel : public PotentialModel {
 public:
  HeldOutModel(const Context& context, const Context& host, const FitProblem& problem,
               const CpTask& task, const CpRecipe& recipe, const HeldOutSettings& settings,
               StartFn start)
      : context_(context),
        host_(host),
        task_(task),
        recipe_(recipe),
        settings_(settings),
        start_(std::move(start)),
        problem_(problem),
        holdout_(split_holdout(problem, settings.holdout)),
        finishes_(core_finishes(settings.shrinkage, settings.smoothing, problem.reference())) {
    if (!recipe.finds_components || holdout_.empty()) {
      sizes_ = {recipe.components};
    } else {
      // A row is no component's alone.
      const std::size_t rows = holdout_.training.data()->x1.states().rows();
      for (const std::size_t size : kSizes) {
        if (size <= std::max<std::size_t>(rows / 4, 1)) sizes_.push_back(size);
      }
    }
    enter(Phase::kSearch);
    begin_rung(start_(data(), sizes_[0]));
  }

  // Updates of all sizes, and of the way to the best of them once more.
  std::int64_t most_updates(std::int64_t planned) const override {
    return planned * static_cast<std::int64_t>(sizes_.size()) * (refits() ? 2 : 1);
  }
  bool finished() const override { return phase_ == Phase::kDone; }

  void updates(std::int64_t, std::span<double> losses) override {
    std::vector<backend::CpUpdate> list;
    const std::int64_t made = rung_.updates;
    for (std::int64_t i = 1; i <= std::ssize(losses); ++i) list.push_back(update_at(made + i));
    trainer_->run(rung_.updates + 1, list, losses);
    rung_.updates += static_cast<std::int64_t>(losses.size());
    if (phase_ == Phase::kSearch) {
      if (rung_.updates % kUpdatesPerLook == 0 || rung_.updates == recipe_.updates) look();
      if (rung_.updates == recipe_.updates || stale_ >= settings_.patience) end_rung();
    } else if (rung_.updates == rung_.best_update) {
      end_refit_rung();
    }
  }

  std::int64_t updates_at_once() const override {
    const std::int64_t left =
        (phase_ == Phase::kSearch ? recipe_.updates : rung_.best_update) - rung_.updates;
    const std::int64_t to_look = kUpdatesPerLook - rung_.updates % kUpdatesPerLook;
    return std::max<std::int64_t>(1, std::min({trainer_->updates_at_once(), left, to_look}));
  }

  TrainingStage stage(std::int64_t) const override {
    TrainingStage stage;
    stage.name = fmt::format("{} {}", rung_.components, recipe_.is_chain ? "states" : "components");
    stage.log = {{recipe_.is_chain ? "states" : "components", rung_.components}};
    if (phase_ == Phase::kSearch && !holdout_.empty() && last_.best_update > 0) {
      stage.name += fmt::format(", held-out {:.3f} +- {:.3f}", last_.value, last_.error);
      stage.log["held_out"] = last_.value;
      stage.log["held_out_error"] = last_.error;
      stage.log["shrinkage"] = last_.finish.shrinkage;
      stage.log["smoothing"] = last_.finish.smoothing;
    } else if (phase_ != Phase::kSearch) {
      stage.name += ", all rows";
      stage.log["refit"] = true;
    }
    return stage;
  }

  bool has_finite_parameters() const override { return trainer_->has_finite_parameters(); }

  // That of the size in training, finished; before its first update the best so far.
  Tensors potential() const override {
    const bool is_new = rung_.updates == 0 && chosen_.num_components > 0;
    if (phase_ == Phase::kDone || is_new) return chosen_;
    return finisher(present()).finish((phase_ == Phase::kSearch ? last_ : rung_).finish);
  }

  std::shared_ptr<const Coupling> coupling() const override { return bridge(potential()); }

  Diagnostics diagnostics() const override {
    Diagnostics found = {
        {recipe_.is_chain ? "states" : "components", static_cast<std::int64_t>(kept_.components)},
        {"shrinkage", kept_.finish.shrinkage},
        {"smoothing", kept_.finish.smoothing},
        {"updates", kept_.best_update},
        {"held_out_update", kept_.best_update},
        {"refit", is_refit_}};
    if (!holdout_.empty()) {
      found["held_out"] = kept_.value;
      found["held_out_error"] = kept_.error;
      found["held_out_rows"] = static_cast<std::int64_t>(holdout_.x1.rows());
      found["training_objective"] = training_value_;
      const double gap = training_value_ - kept_.value;
      if (gap > 1.0 && gap > 4.0 * kept_.error) {
        found["warning"] = fmt::format(
            "the objective is {:.2f} on the rows trained on and {:.2f} +- {:.2f} on those held "
            "out: {:.1f} nats of it are the first ones' own; more rows would help",
            training_value_, kept_.value, kept_.error, gap);
      }
    }
    return found;
  }

  void save_state(SafetensorsWriter& writer) const override {
    position_ = {static_cast<double>(phase_),
                 static_cast<double>(stale_),
                 static_cast<double>(kept_at_),
                 static_cast<double>(at_),
                 training_value_,
                 is_refit_ ? 1.0 : 0.0};
    table_.clear();
    for (const Rung& rung : rungs_) append(rung);
    append(rung_);
    append(last_);
    append(kept_);
    writer.add("held_out_position", {position_.size()}, std::span<const double>(position_));
    writer.add("held_out_rungs", {table_.size()}, std::span<const double>(table_));
    const auto add = [&](const std::string& name, std::span<const float> values) {
      writer.add(name, {values.size()}, values);
    };
    if (best_.num_components > 0) each_tensor("best_", best_, add);
    if (chosen_.num_components > 0) each_tensor("chosen_", chosen_, add);
    each_state_tensor(trainer_->state(), add);
  }

  void load_state(const SafetensorsFile& file) override {
    const std::vector<double> position = file.read_doubles("held_out_position");
    const std::vector<double> table = file.read_doubles("held_out_rungs");
    if (position.size() != 6 || table.size() % kRungNumbers != 0 ||
        table.size() < 3 * kRungNumbers) {
      throw_file(file.path(),
                 "its held-out tensors have {} and {} entries, expected 6 and a multiple of {}",
                 position.size(), table.size(), kRungNumbers);
    }
    std::vector<Rung> rows;
    for (std::size_t i = 0; i < table.size(); i += kRungNumbers) {
      rows.push_back(read_rung(file, std::span(table).subspan(i, kRungNumbers)));
    }
    enter(static_cast<Phase>(whole(file, position[0], 2)));
    stale_ = static_cast<int>(whole(file, position[1], 1 << 30));
    kept_at_ = static_cast<std::size_t>(whole(file, position[2], 64));
    at_ = static_cast<std::size_t>(whole(file, position[3], 64));
    training_value_ = position[4];
    is_refit_ = whole(file, position[5], 1) == 1;
    kept_ = rows.back();
    last_ = rows[rows.size() - 2];
    rung_ = rows[rows.size() - 3];
    rungs_.assign(rows.begin(), rows.end() - 3);
    if (kept_at_ > rungs_.size() || at_ > rungs_.size()) {
      throw_file(file.path(), "it names rung {} of {}", std::max(kept_at_, at_), rungs_.size());
    }
    best_ = read_tensors(file, "best_");
    chosen_ = read_tensors(file, "chosen_");
    make_trainer(Tensors(problem_.dim(), static_cast<std::size_t>(problem_.num_categories()),
                         rung_.components, recipe_.is_chain, recipe_.tree));
    backend::CpTrainingState state = trainer_->state();
    each_state_tensor(state, [&](const std::string& name, std::span<float> values) {
      file.expect_shape(name, {values.size()});
      std::ranges::copy(file.read_floats(name), values.begin());
    });
    trainer_->set_state(std::move(state));
  }

 private:
  enum class Phase { kSearch, kRefit, kDone };
  static constexpr std::size_t kRungNumbers = 7;

  bool refits() const { return settings_.refit && !holdout_.empty(); }

  void enter(Phase phase) {
    phase_ = phase;
    const DataEnds& rows = *(phase == Phase::kSearch ? holdout_.training : problem_).data();
    log_reach_ = log_reach(host_, rows.reference, rows.x0.states());
  }

  TrainingData data() const {
    return {phase_ == Phase::kSearch ? holdout_.training : problem_, "", "", task_.seed};
  }

  const States& rows_x1() const {
    return (phase_ == Phase::kSearch ? holdout_.training : problem_).data()->x1.states();
  }

  std::shared_ptr<const Bridge> bridge(const Tensors& parameters) const {
    return bridge_of(task_.chain.process(), parameters,
                     task_.matching ? task_.chain.num_steps() : 0);
  }

  // By the rows that this phase trains on.
  CoreFinisher finisher(const Tensors& parameters) const {
    return {host_, task_.chain.process(), parameters, log_reach_, rows_x1().view()};
  }

  // Whether a smaller size starts on merged states, which a high rate throws off. Those of a tree
  // start anew: its inner nodes emit nothing that would tell which states are alike.
  bool begins_merged() const { return recipe_.is_chain && !recipe_.tree; }

  Tensors smaller(const Tensors& parameters, double shrinkage, std::size_t size) const {
    return recipe_.tree ? start_(data(), size) : merged(parameters, shrinkage, size);
  }

  // The start of a smaller size. Cores that are shrunk tell better which components are alike.
  Tensors merged(const Tensors& parameters, double shrinkage, std::size_t size) const {
    return merge_components(host_, finisher(parameters).finish({shrinkage, 0}), log_reach_,
                            rows_x1(), size);
  }

  // The rate of the schedule, and a mean of the parameters so far that counts update t as t^power:
  // it is worth looking at after any of them.
  backend::CpUpdate update_at(std::int64_t update) const {
    constexpr std::int64_t kEvery = 2;
    const auto all = static_cast<double>(recipe_.updates);
    const bool is_first = (phase_ == Phase::kSearch ? rungs_.size() : at_) == 0;
    const double rate = recipe_.learning_rate * (begins_merged() && !is_first ? kLaterRate : 1.0);
    backend::CpUpdate told{rate, 0.0};
    if (recipe_.cosine) {
      told.learning_rate = cosine_rate(rate, static_cast<double>(update - 1) / all);
    }
    if (recipe_.average > 0.0 && (update == 1 || update % kEvery == 0)) {
      const double power = 4.0 / recipe_.average;
      const auto count = static_cast<double>(std::max<std::int64_t>(update / kEvery, 1));
      told.average_share = (power + 1.0) / (count + power);
    }
    return told;
  }

  void make_trainer(Tensors start) {
    const TrainingData rows = data();
    backend::CpTrainerPlan plan = cp_trainer_plan(host_, task_, recipe_, rows, std::move(start));
    const std::size_t rows_there = std::max(plan.x0.observed.rows(), plan.x1.observed.rows());
    plan.batch_size = std::min(plan.batch_size, rows_there);
    trainer_ = backend::of(context_).make_trainer(context_, std::move(plan));
  }

  void begin_rung(Tensors start) {
    rung_ = Rung{.components = start.num_components};
    if (phase_ == Phase::kRefit) {
      rung_.best_update = rungs_[at_].best_update;
      rung_.finish = rungs_[at_].finish;
    }
    stale_ = 0;
    make_trainer(std::move(start));
  }

  const Tensors& present() const {
    const backend::CpTrainingState& state = trainer_->state();
    return recipe_.average > 0.0 ? state.average : state.parameters;
  }

  HeldOutObjective objective(const Tensors& parameters, const States& x0, const States& x1,
                             std::size_t most_rows) const {
    return held_out_objective(context_, *bridge(parameters), first_rows(x0, most_rows),
                              first_rows(x1, most_rows));
  }

  // By how much `parameters` are nearer to the bridge behind these rows than those chosen so far.
  MeanEstimate gain_over_chosen(const Tensors& parameters, const States& x0,
                                const States& x1) const {
    return objective_difference(objective(parameters, x0, x1, kMostRowsCompared),
                                objective(chosen_, x0, x1, kMostRowsCompared));
  }

  // Keeps the parameters where they are better than before.
  void look() {
    const Tensors& parameters = present();
    last_ = Rung{.components = rung_.components, .best_update = rung_.updates};
    if (holdout_.empty()) {
      last_.finish = finishes_.first().front();
    } else {
      last_.value = -std::numeric_limits<double>::infinity();
      CoreFinisher finisher = this->finisher(parameters);
      for (const CoreFinish& finish :
           rung_.best_update > 0 ? finishes_.near(rung_.finish) : finishes_.first()) {
        const HeldOutObjective found =
            objective(finisher.finish(finish), holdout_.x0, holdout_.x1, kMostRowsPerLook);
        if (!(found.value > last_.value) && last_.value > kLowest) continue;
        last_.value = std::max(found.value, kLowest);
        last_.error = std::min(found.standard_error, -kLowest);
        last_.finish = finish;
      }
    }
    ++stale_;
    if (rung_.best_update > 0 && !holdout_.empty() && !(last_.value > rung_.value)) return;
    stale_ = 0;
    best_ = parameters;
    rung_.best_update = last_.best_update;
    rung_.value = last_.value;
    rung_.error = last_.error;
    rung_.finish = last_.finish;
  }

  // A smaller size takes the place of the one kept where it is better by more than the error of
  // their difference: one component too few costs more than some too many.
  bool is_clearly_better(const Tensors& parameters) const {
    const MeanEstimate gain = gain_over_chosen(parameters, holdout_.x0, holdout_.x1);
    return gain.mean > gain.standard_error;
  }

  void end_rung() {
    Tensors parameters = finisher(best_).finish(rung_.finish);
    if (rungs_.empty() || is_clearly_better(parameters)) {
      kept_ = rung_;
      kept_at_ = rungs_.size();
      chosen_ = std::move(parameters);
    }
    rungs_.push_back(rung_);
    const bool far_below = rung_.value < kept_.value - kFarBelow * kept_.error;
    if (rungs_.size() < sizes_.size() && !far_below) {
      begin_rung(smaller(best_, rung_.finish.shrinkage, sizes_[rungs_.size()]));
      return;
    }
    if (!holdout_.empty()) {
      const HeldOutObjective of_training =
          objective(chosen_, holdout_.training.data()->x0.states(), rows_x1(), kMostRowsPerLook);
      training_value_ = std::max(of_training.value, kLowest);
    }
    if (!refits()) {
      phase_ = Phase::kDone;
      return;
    }
    Tensors start = start_(data(), sizes_[0]);
    enter(Phase::kRefit);
    at_ = 0;
    begin_rung(std::move(start));
  }

  void end_refit_rung() {
    if (at_ == kept_at_) {
      keep_refit_unless_worse(finisher(present()).finish(kept_.finish));
      phase_ = Phase::kDone;
      return;
    }
    const double shrinkage = rungs_[at_].finish.shrinkage;
    ++at_;
    begin_rung(smaller(present(), shrinkage, sizes_[at_]));
  }

  // The refit has other batches, and now and then misses a rare part of p1 that the search found.
  // That shows on the rows themselves, all of which the refit was trained on.
  void keep_refit_unless_worse(Tensors refit) {
    const DataEnds& rows = *problem_.data();
    const MeanEstimate gain = gain_over_chosen(refit, rows.x0.states(), rows.x1.states());
    is_refit_ = !(gain.mean < -gain.standard_error);
    if (is_refit_) chosen_ = std::move(refit);
  }

  void append(const Rung& rung) const {
    table_.insert(table_.end(),
                  {static_cast<double>(rung.components), static_cast<double>(rung.updates),
                   static_cast<double>(rung.best_update), rung.value, rung.error,
                   rung.finish.shrinkage, rung.finish.smoothing});
  }

  static std::int64_t whole(const SafetensorsFile& file, double value, double most) {
    if (!(value >= 0.0 && value <= most && std::trunc(value) == value)) {
      throw_file(file.path(), "a held-out number must be whole and in 0..{}, got {}", most, value);
    }
    return static_cast<std::int64_t>(value);
  }

  Rung read_rung(const SafetensorsFile& file, std::span<const double> row) const {
    const auto updates = static_cast<double>(recipe_.updates);
    const CoreFinish finish{row[5], row[6]};
    if (!(finish.shrinkage >= 0.0 && std::isfinite(finish.shrinkage) && finish.smoothing >= 0.0 &&
          finish.smoothing <= problem_.reference().total_steps())) {
      throw_file(file.path(), "shrinkage {} and smoothing {} are out of range", finish.shrinkage,
                 finish.smoothing);
    }
    return {static_cast<std::size_t>(whole(file, row[0], 1 << 24)),
            whole(file, row[1], updates),
            whole(file, row[2], updates),
            row[3],
            row[4],
            finish};
  }

  // Empty where nothing was kept yet.
  Tensors read_tensors(const SafetensorsFile& file, const std::string& prefix) const {
    if (!file.has(prefix + "log_beta")) return {};
    const std::vector<std::size_t>& shape = file.shape(prefix + "log_beta");
    Tensors tensors(problem_.dim(), static_cast<std::size_t>(problem_.num_categories()),
                    shape.size() == 1 ? shape[0] : 0, recipe_.is_chain, recipe_.tree);
    each_tensor(prefix, tensors, [&](const std::string& name, auto& values) {
      file.expect_shape(name, {values.size()});
      std::ranges::copy(file.read_floats(name), values.begin());
    });
    return tensors;
  }

  Context context_, host_;
  CpTask task_;
  CpRecipe recipe_;
  HeldOutSettings settings_;
  StartFn start_;
  FitProblem problem_;
  Holdout holdout_;
  CoreFinishes finishes_;
  std::vector<std::size_t> sizes_;

  Phase phase_ = Phase::kSearch;
  Matrix<double> log_reach_;  // of the rows that this phase trains on
  std::unique_ptr<backend::CpTrainer> trainer_;
  Rung rung_;                // in training
  Rung last_;                // what the last look found
  int stale_ = 0;            // looks since the last gain
  Tensors best_;             // of this size
  std::vector<Rung> rungs_;  // sizes whose search has ended
  Rung kept_;                // the best of them
  std::size_t kept_at_ = 0;
  Tensors chosen_;         // its parameters, finished
  std::size_t at_ = 0;     // of the refit
  bool is_refit_ = false;  // whether the chosen parameters are those of the refit
  double training_value_ = 0.0;
  mutable std::vector<double> position_, table_;  // of a checkpoint
};

}  // namespace

std::unique_ptr<PotentialModel> make_held_out_model(const Context& context, const Context& host,
                                                    const FitProblem& problem, const CpTask& task,
                                                    const CpRecipe& recipe,
                                                    const HeldOutSettings& settings,
                                                    StartFn start) {
  return std::make_unique<HeldOutModel>(context, host, problem, task, recipe, settings,
                                        std::move(start));
}

}  // namespace bridgemark
