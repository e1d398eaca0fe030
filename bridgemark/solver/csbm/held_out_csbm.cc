#include "bridgemark/solver/csbm/held_out_csbm.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/solver/csbm/csbm_model.h"
#include "bridgemark/solver/csbm/judged_pairs.h"
#include "bridgemark/solver/csbm/network_ladder.h"
#include "bridgemark/solver/csbm/network_stage.h"

namespace bridgemark {

namespace {

// A warning says that a held-out loss is this share above that of rows trained on, and surely so.
constexpr double kFarAbove = 0.25, kErrorsAbove = 4.0;

MeanEstimate finite_mean(std::span<const double> losses) {
  const MeanEstimate mean = estimate_mean(losses);
  return {std::isfinite(mean.mean) ? mean.mean : kHighestLoss,
          std::isfinite(mean.standard_error) ? mean.standard_error : 0.0};
}

// Pairs are made between updates that no checkpoint has yet: a stop waits for the next update.
Context without_stop(Context host) {
  host.stop = nullptr;
  return host;
}

class HeldOutCsbm : public TrainedModel {
 public:
  HeldOutCsbm(const Context& context, const Context& host, const FitProblem& problem,
              const CsbmRecipe& recipe, const StoppingSettings& settings, std::uint64_t seed)
      : context_(context),
        host_(without_stop(host)),
        problem_(problem),
        recipe_(recipe),
        settings_(settings),
        seed_(seed),
        holdout_(split_holdout(problem, settings.holdout)),
        steps_(make_two_way_steps(host, problem.reference(), recipe.num_steps)),
        ladder_(recipe),
        held_out_(judge(holdout_.x0, holdout_.x1, 0)),
        trained_on_(judge(holdout_.training.data()->x0.states(),
                          holdout_.training.data()->x1.states(), JudgedPairs::kMostPairs)) {
    make_task();
    begin_candidate();
  }

  std::int64_t most_updates(std::int64_t planned) const override {
    const auto others = static_cast<std::int64_t>(ladder_.size()) - 1;
    return planned * (settings_.refit ? 2 : 1) + others * recipe_.last_update(1);
  }
  bool finished() const override {
    return ended_ && ladder_.done() && stage_from(at_ + 1) == num_stages() &&
           (phase_ == Phase::kRefit || !refits());
  }
  bool ended_stage() const override { return ended_; }

  void updates(std::int64_t, std::span<double> losses) override {
    if (ended_) begin_next();
    std::vector<backend::NetworkUpdate> list;
    for (std::size_t i = 1; i <= losses.size(); ++i) {
      const std::int64_t count = ++counts_[direction_index(stage_.direction)];
      if (recipe_.both_directions) counts_[1] = count;
      const std::int64_t planned = in_schedule(stage_.updates + static_cast<std::int64_t>(i));
      list.push_back({recipe_.on_first_pairs(planned, recipe_.first_share),
                      static_cast<int>(direction_index(stage_.direction)), count,
                      recipe_.rate_at(planned), recipe_.ema_at(count)});
    }
    trainer_->run(made_ + 1, list, losses);
    made_ += static_cast<std::int64_t>(losses.size());
    stage_.updates += static_cast<std::int64_t>(losses.size());
    const bool last = stage_.updates == updates_of_stage(at_);
    if (phase_ == Phase::kSearch) {
      if (last || stage_.updates % kUpdatesPerLook == 0) look();
      if (last || stale_ >= settings_.patience) end_stage();
    } else {
      ended_ = last;
    }
  }

  std::int64_t updates_at_once() const override {
    if (ended_) return 1;  // the next stage says how many it can make once it has begun
    return std::min({trainer_->updates_at_once(), updates_of_stage(at_) - stage_.updates,
                     kUpdatesPerLook - stage_.updates % kUpdatesPerLook});
  }

  TrainingStage stage(std::int64_t) const override {
    TrainingStage told;
    told.name = fmt::format("D-IMF iteration {} of {}", stage_.iteration, recipe_.imf_iterations);
    told.log = {{"imf_iteration", stage_.iteration}};
    if (!recipe_.both_directions) {
      told.name += fmt::format(" {}", direction_name(stage_.direction));
      told.log["direction"] = direction_name(stage_.direction);
    }
    if (!ladder_.done()) {
      told.name +=
          fmt::format(", width {}, weight decay {:g}", recipe_.hidden[0], recipe_.weight_decay);
      told.log["width"] = recipe_.hidden[0];
      told.log["weight_decay"] = recipe_.weight_decay;
    }
    if (phase_ == Phase::kRefit) {
      told.name += ", all rows";
      told.log["refit"] = true;
    } else {
      told.name += fmt::format(", held-out {:.4f} +- {:.4f}", last_.mean, last_.standard_error);
      told.log["held_out_loss"] = last_.mean;
      told.log["held_out_error"] = last_.standard_error;
    }
    return told;
  }

  bool has_finite_parameters() const override { return trainer_->has_finite_parameters(); }

  std::shared_ptr<const Coupling> coupling() const override {
    return bridge_of_averages(steps_, trainer_->state());
  }

  Diagnostics diagnostics() const override {
    Diagnostics found = {{"held_out_rows", static_cast<std::int64_t>(held_out_.count())},
                         {"refit", refits()},
                         {"hidden", fmt::format("{}", fmt::join(recipe_.hidden, ","))},
                         {"weight_decay", recipe_.weight_decay}};
    if (ladder_.is_search()) found["tried"] = ladder_.text();
    std::string warning;
    for (const NetworkStage& stage : stages_) {
      const std::string name = stage_name(recipe_, stage);
      found["held_out_loss_" + name] = stage.value;
      found["held_out_error_" + name] = stage.error;
      found["held_out_update_" + name] = stage.best_update;
      found["training_loss_" + name] = stage.training;
      const double gap = stage.value - stage.training;
      if (!warning.empty() || gap <= kFarAbove * stage.training ||
          gap <= kErrorsAbove * stage.error) {
        continue;
      }
      warning = fmt::format(
          "the loss of D-IMF iteration {} is {:.4f} on rows trained on and {:.4f} +- {:.4f} on "
          "those held out: the network knows the first ones by heart; more rows would help",
          stage.iteration, stage.training, stage.value, stage.error);
    }
    if (!warning.empty()) found["warning"] = warning;
    return found;
  }

  void save_state(SafetensorsWriter& writer) const override {
    position_ = {static_cast<double>(phase_),
                 static_cast<double>(at_),
                 ended_ ? 1.0 : 0.0,
                 static_cast<double>(stale_),
                 static_cast<double>(made_),
                 static_cast<double>(counts_[0]),
                 static_cast<double>(counts_[1]),
                 static_cast<double>(recipe_.hidden[0]),
                 recipe_.weight_decay};
    table_.clear();
    for (const NetworkStage& stage : stages_) append_stage(stage, table_);
    append_stage(stage_, table_);
    table_.insert(table_.end(), {last_.mean, last_.standard_error});
    writer.add("held_out_position", {position_.size()}, std::span<const double>(position_));
    writer.add("held_out_stages", {table_.size()}, std::span<const double>(table_));
    saved_ = trainer_->state();
    add_networks(writer, "", saved_);
    ladder_.save(writer);
    if (!ladder_.done()) {
      writer.add("candidate_losses", {losses_.size()}, std::span<const double>(losses_));
    }
    if (phase_ == Phase::kRefit) return;
    add_networks(writer, "best.", best_);
    each_trained([&](Direction direction) {
      held_out_.save(writer, pairs_name("held_out", direction), direction);
      trained_on_.save(writer, pairs_name("trained_on", direction), direction);
    });
  }

  void load_state(const SafetensorsFile& file) override {
    const std::vector<double> position = file.read_doubles("held_out_position");
    const std::vector<double> table = file.read_doubles("held_out_stages");
    if (position.size() != 9 || table.size() % kStageNumbers != 2 ||
        table.size() < kStageNumbers + 2) {
      throw_file(file.path(),
                 "its held-out tensors have {} and {} entries, expected 9 and 2 more than a "
                 "multiple of {}",
                 position.size(), table.size(), kStageNumbers);
    }
    const Phase phase = static_cast<Phase>(read_whole(file, position[0], 1));
    if (phase != std::exchange(phase_, phase)) make_task();
    recipe_.weight_decay = position[8];
    const auto width = static_cast<std::size_t>(read_whole(file, position[7], 1 << 16));
    if (width != recipe_.hidden[0]) recipe_.hidden.assign(recipe_.hidden.size(), width);
    ladder_.load(file, recipe_, problem_.dim(), problem_.num_categories(), held_out_.count());
    if (!ladder_.done()) {
      file.expect_shape("candidate_losses", {held_out_.count()});
      losses_ = file.read_doubles("candidate_losses");
    }
    make_trainer();
    at_ = static_cast<std::size_t>(
        read_whole(file, position[1], static_cast<double>(num_stages()) - 1));
    ended_ = read_whole(file, position[2], 1) == 1;
    stale_ = static_cast<int>(read_whole(file, position[3], 1 << 30));
    made_ = read_whole(file, position[4], kMostUpdates);
    for (std::size_t i = 0; i < 2; ++i)
      counts_[i] = read_whole(file, position[5 + i], kMostUpdates);
    read_table(file, table);
    backend::NetworkTrainingState state = trainer_->state();
    if (phase_ == Phase::kSearch) {
      best_ = state;
      read_networks(file, "best.", best_);
      each_trained([&](Direction direction) {
        held_out_.load(file, pairs_name("held_out", direction), direction);
        trained_on_.load(file, pairs_name("trained_on", direction), direction);
      });
    }
    read_networks(file, "", state);
    trainer_->set_state(state);
  }

 private:
  enum class Phase { kSearch, kRefit };

  static constexpr double kMostUpdates = 1e15;

  JudgedPairs judge(const States& x0, const States& x1, std::uint64_t first_index) const {
    return {host_, ReferenceChain(problem_.reference(), recipe_.num_steps),
            JudgedRows{x0, x1, seed_, first_index}};
  }

  std::size_t num_stages() const {
    return static_cast<std::size_t>(recipe_.passes() * recipe_.imf_iterations);
  }

  // The most updates of a stage, or those found where it is trained once more.
  std::int64_t updates_of_stage(std::size_t i) const {
    return phase_ == Phase::kRefit ? stages_[i].best_update
                                   : recipe_.updates_of(stage_of_recipe(recipe_, i).iteration);
  }

  // The first stage from i on with updates to make: one in which nothing was gained is not trained
  // again.
  std::size_t stage_from(std::size_t i) const {
    while (i < num_stages() && updates_of_stage(i) == 0) ++i;
    return i;
  }

  bool refits() const {
    return settings_.refit && std::ranges::any_of(stages_, [](const NetworkStage& stage) {
             return stage.best_update > 0;
           });
  }

  // The number that an update of the stage has in a training that is not stopped, whose schedule
  // it follows.
  std::int64_t in_schedule(std::int64_t update) const {
    for (int i = 1; i < stage_.iteration; ++i) update += recipe_.updates_of(i);
    return update;
  }

  template <typename Visit>
  void each_trained(Visit&& visit) const {
    for (const Direction direction : kDirections) {
      if (recipe_.both_directions || direction == stage_.direction) visit(direction);
    }
  }

  static std::string pairs_name(const char* judge, Direction direction) {
    return fmt::format("{}.{}", judge, direction_name(direction));
  }

  // The rows and first pairs of the phase.
  void make_task() {
    const FitProblem& rows = phase_ == Phase::kSearch ? holdout_.training : problem_;
    const TrainingData data(rows, "", "", seed_);
    task_ = std::make_unique<CsbmTask>(
        CsbmTask{rows.reference(), rows.dim(), recipe_, data, seed_,
                 FirstPairs(host_, recipe_.first_pairs, rows.reference(), data, seed_)});
  }

  // New networks of the present recipe.
  void make_trainer() {
    task_->recipe = recipe_;
    trainer_ =
        backend::of(context_).make_trainer(context_, network_trainer_plan(host_, *task_, steps_));
    counts_ = {0, 0};
    made_ = 0;
  }

  void set_choice(const NetworkChoice& choice) {
    recipe_.hidden = choice.hidden;
    recipe_.weight_decay = choice.weight_decay;
    make_trainer();
  }

  void begin_candidate() {
    set_choice(ladder_.next());
    stages_.clear();
    losses_.assign(held_out_.count(), 0.0);
    begin_stage(0);
  }

  // The losses of a candidate add up over the stages of the first iteration, whose last decides.
  void end_candidate_stage() {
    const std::vector<double> losses = losses_on(held_out_);
    for (std::size_t i = 0; i < losses.size(); ++i) losses_[i] += losses[i];
    if (at_ + 1 < static_cast<std::size_t>(recipe_.passes())) return;
    const bool better = ladder_.add(
        {{recipe_.hidden, recipe_.weight_decay}, best_, stages_, losses_, made_, counts_});
    if (ladder_.done() && !better) adopt(ladder_.best());
  }

  // Goes on with another network, from the end of its first iteration.
  void adopt(const NetworkCandidate& other) {
    set_choice(other.choice);
    trainer_->set_state(other.state);
    best_ = other.state;
    stages_ = other.stages;
    stage_ = stages_.back();
    made_ = other.made;
    counts_ = other.counts;
  }

  void begin_next() {
    if (!ladder_.done() && at_ + 1 == static_cast<std::size_t>(recipe_.passes())) {
      begin_candidate();
      return;
    }
    std::size_t next = stage_from(at_ + 1);
    if (next == num_stages()) {
      phase_ = Phase::kRefit;
      make_task();
      make_trainer();
      next = stage_from(0);
    }
    begin_stage(next);
  }

  void begin_stage(std::size_t i) {
    at_ = i;
    ended_ = false;
    stale_ = 0;
    stage_ = stage_of_recipe(recipe_, i);
    if (phase_ == Phase::kRefit) return;
    const backend::NetworkTrainingState state = trainer_->state();
    each_trained([&](Direction direction) {
      for (JudgedPairs* judge : {&held_out_, &trained_on_}) {
        if (stage_.iteration == 1) {
          judge->pair_first(recipe_.first_pairs, direction);
          continue;
        }
        const bool forward = direction == Direction::kForward;
        judge->pair_through(context_, state[1 - direction_index(direction)].average,
                            forward ? *steps_.towards_x0 : *steps_.towards_x1, stage_.iteration,
                            direction);
      }
    });
    look();
  }

  // The mean over the directions in training, by pair.
  std::vector<double> losses_on(const JudgedPairs& judge) {
    std::vector<double> sum(judge.count(), 0.0);
    const double share = recipe_.both_directions ? 0.5 : 1.0;
    each_trained([&](Direction direction) {
      const std::vector<double> losses = judge.losses(*trainer_, direction);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += share * losses[i];
    });
    return sum;
  }

  // Keeps the parameters where they are better than before.
  void look() {
    last_ = finite_mean(losses_on(held_out_));
    ++stale_;
    if (stage_.updates > 0 && !(last_.mean < stage_.value)) return;
    stale_ = 0;
    best_ = trainer_->state();
    stage_.best_update = stage_.updates;
    stage_.value = last_.mean;
    stage_.error = last_.standard_error;
  }

  void end_stage() {
    trainer_->set_state(best_);
    each_trained([&](Direction direction) {
      counts_[direction_index(direction)] -= stage_.updates - stage_.best_update;
    });
    stage_.training = finite_mean(losses_on(trained_on_)).mean;
    stages_.push_back(stage_);
    ended_ = true;
    if (!ladder_.done()) end_candidate_stage();
  }

  // The stages that have ended, the present one, and the last look.
  void read_table(const SafetensorsFile& file, const std::vector<double>& table) {
    const std::size_t count = table.size() / kStageNumbers;
    const std::size_t expected = phase_ == Phase::kRefit ? num_stages() : at_ + (ended_ ? 1 : 0);
    if (count != expected + 1) {
      throw_file(file.path(), "it has {} stages, expected {}", count, expected + 1);
    }
    std::vector<NetworkStage> rows;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = i + 1 < count ? i : at_;
      rows.push_back(read_stage(file, recipe_,
                                std::span(table).subspan(i * kStageNumbers, kStageNumbers), place));
    }
    stage_ = rows.back();
    rows.pop_back();
    stages_ = std::move(rows);
    last_ = {table[table.size() - 2], table[table.size() - 1]};
  }

  Context context_, host_;
  FitProblem problem_;
  CsbmRecipe recipe_;
  StoppingSettings settings_;
  std::uint64_t seed_;
  Holdout holdout_;
  TwoWaySteps steps_;
  NetworkLadder ladder_;
  JudgedPairs held_out_, trained_on_;

  Phase phase_ = Phase::kSearch;
  std::unique_ptr<CsbmTask> task_;
  std::unique_ptr<backend::NetworkTrainer> trainer_;
  std::vector<double> losses_;  // of the candidate, by pair held out, over its stages so far
  std::size_t at_ = 0;          // the stage in training, of all of the phase
  bool ended_ = false;          // it has
  NetworkStage stage_;          // the same
  MeanEstimate last_;           // what the last look found
  int stale_ = 0;               // looks since the last gain
  backend::NetworkTrainingState best_;            // of this stage
  std::vector<NetworkStage> stages_;              // whose search has ended
  std::int64_t made_ = 0;                         // updates of the phase, those not kept included
  std::array<std::int64_t, 2> counts_ = {0, 0};   // updates behind each network
  mutable std::vector<double> position_, table_;  // of a checkpoint
  mutable backend::NetworkTrainingState saved_;
};

}  // namespace

std::unique_ptr<TrainedModel> make_held_out_csbm(const Context& context, const Context& host,
                                                 const FitProblem& problem,
                                                 const CsbmRecipe& recipe,
                                                 const StoppingSettings& settings,
                                                 std::uint64_t seed) {
  return std::make_unique<HeldOutCsbm>(context, host, problem, recipe, settings, seed);
}

}  // namespace bridgemark
