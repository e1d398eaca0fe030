#include "bridgemark/solver/core/training_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <vector>

#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/rank_group.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/event_file.h"
#include "bridgemark/solver/core/checkpoint_shards.h"
#include "bridgemark/solver/core/rank_agreement.h"
#include "bridgemark/solver/core/training_log.h"

namespace bridgemark {

namespace {

// The lines of a log up to an update; a killed run may have logged past its last checkpoint.
std::vector<LogLine> log_until(const std::filesystem::path& path, std::int64_t last_update) {
  if (!path_exists(path)) return {};
  std::vector<LogLine> lines = read_training_log(path);
  std::erase_if(lines, [&](const LogLine& line) { return line.update > last_update; });
  return lines;
}

// The first tensor of a checkpoint with a value that is not finite; empty where there is none.
std::string not_finite_tensor(const SafetensorsFile& file) {
  for (const std::string& name : file.names()) {
    const std::vector<double> values = file.read_doubles(name);
    if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
      return name;
  }
  return {};
}

// The numbers of a line, as an event file has them: its update is their step.
std::vector<EventScalar> log_scalars(const nlohmann::json& line) {
  std::vector<EventScalar> scalars;
  for (const auto& [key, value] : line.items()) {
    if (value.is_number() && key != "update") scalars.push_back({key, value.get<double>()});
  }
  return scalars;
}

void require_finite(const SafetensorsFile& file, const std::filesystem::path& path) {
  if (const std::string tensor = not_finite_tensor(file); !tensor.empty()) {
    throw_file(path.string(), "tensor '{}' is not finite; remove the file to train from the start",
               tensor);
  }
}

class Loop {
 public:
  Loop(const Context& context, const TrainingPlan& plan, const TrainingFiles& files,
       Trainable& model)
      : context_(context), plan_(plan), files_(files), model_(model) {}

  TrainingSummary run() {
    resume();
    open_log();
    started_ = saved_ = checked_ = Clock::now();
    std::vector<double> losses;
    while (summary_.updates < plan_.updates && !model_.finished()) {
      const std::int64_t first = summary_.updates + 1;
      const std::int64_t to_line =
          std::min(left_to(plan_.log_every), left_to(plan_.validate_every));
      const std::int64_t stage_last = model_.stage(first).last;
      losses.resize(static_cast<std::size_t>(
          std::min({model_.updates_at_once(), to_line,
                    std::min(plan_.updates, stage_last) - summary_.updates})));
      model_.updates(first, losses);
      check_losses(first, losses);
      for (const double loss : losses) interval_loss_ += loss;
      interval_ += static_cast<std::int64_t>(losses.size());
      const std::int64_t step = first + static_cast<std::int64_t>(losses.size()) - 1;
      summary_.updates = step;
      const bool last = step == plan_.updates || model_.finished();
      const bool validated = plan_.validate_every > 0 && (last || is_due(plan_.validate_every));
      const bool line = last || validated || is_due(plan_.log_every) || step == stage_last ||
                        model_.ended_stage();
      if (line) end_interval(last);
      report(step, seconds_since(started_));
      bool votes[] = {!not_finite_.empty(), context_.should_stop(),
                      seconds_since(saved_) >= plan_.checkpoint_seconds};
      each_of_any_rank(context_, votes);
      const auto [diverged, told_to_stop, save] = votes;
      if (diverged) throw_not_finite();
      bool stop = told_to_stop;
      if (line) {
        write_line(validated);
        if (validated || files_.watch.on_line) stop = stop || context_.should_stop();
      }
      if (last || stop || save) {
        summary_.seconds = earlier_seconds_ + seconds_since(started_);
        checkpoint();
        saved_ = Clock::now();
      }
      if (stop && !last) {
        throw Interrupted(
            fmt::format("stopped at update {} of {}; go on with --resume", step, plan_.updates));
      }
    }
    return summary_;
  }

 private:
  // Updates from the present one to the next multiple of `every`, which is never for 0.
  std::int64_t left_to(std::int64_t every) const {
    return every > 0 ? every - summary_.updates % every : std::numeric_limits<std::int64_t>::max();
  }
  bool is_due(std::int64_t every) const { return summary_.updates % every == 0; }

  void check_losses(std::int64_t first, std::span<const double> losses) const {
    for (std::size_t i = 0; i < losses.size(); ++i) {
      if (std::isfinite(losses[i])) continue;
      throw_diverged(first + static_cast<std::int64_t>(i),
                     fmt::format("the loss is {}", losses[i]));
    }
  }

  // The tensor is this rank's, or another's where it has no name.
  [[noreturn]] void throw_not_finite() const {
    throw_diverged(summary_.updates, not_finite_.empty()
                                         ? std::string("a parameter of another rank is not finite")
                                         : fmt::format("{} is not finite", not_finite_));
  }

  [[noreturn]] void throw_diverged(std::int64_t step, const std::string& how) const {
    const std::string left = saved_update_ > 0
                                 ? fmt::format("the last checkpoint is of update {}", saved_update_)
                                 : std::string("there is no checkpoint");
    throw Diverged(fmt::format("[training] {} diverged at update {}: {}; {}; lower learning_rate",
                               plan_.name, step, how, left));
  }

  // What a line of the log says. Parameters are looked at too, as long as that takes a hundredth of
  // the time; at the end it is the checkpoint that looks, where one is kept.
  void end_interval(bool last) {
    summary_.last_loss = interval_loss_ / static_cast<double>(interval_);
    interval_loss_ = 0.0;
    interval_ = 0;
    if ((last && files_.checkpoint.empty()) ||
        (!last && seconds_since(checked_) >= 100.0 * check_seconds_)) {
      checked_ = Clock::now();
      if (!model_.has_finite_parameters()) {
        SafetensorsWriter writer;
        model_.save_state(writer);
        not_finite_ = writer.not_finite();
      }
      check_seconds_ = seconds_since(checked_);
    }
  }

  void resume() {
    if (!files_.checkpoint.empty() && path_exists(files_.checkpoint)) read_checkpoint();
    if (!same_on_all_ranks(context_, static_cast<double>(summary_.updates))) {
      throw_file(
          files_.checkpoint.string(),
          "ranks see it at different updates; the folder must be one that all of them share");
    }
  }

  void read_checkpoint() {
    const std::string name = files_.checkpoint.string();
    const SafetensorsFile file = SafetensorsFile::load(files_.checkpoint);
    const std::vector<double> progress = file.read_doubles("training_progress");
    // Older checkpoints have nothing on the log interval that they were written in.
    if (progress.size() != 3 && progress.size() != 5) {
      throw_file(name, "tensor 'training_progress' must have 5 entries, got {}", progress.size());
    }
    if (context_.is_first_rank()) require_finite(file, files_.checkpoint);
    const auto whole_number = [&](std::size_t i, double most, const char* what) {
      if (!(progress[i] >= 0.0 && progress[i] <= most && std::trunc(progress[i]) == progress[i])) {
        throw_file(name, "{} must be a whole number in 0..{}, got {}", what, most, progress[i]);
      }
      return static_cast<std::int64_t>(progress[i]);
    };
    summary_.updates = whole_number(0, static_cast<double>(plan_.updates), "its update");
    summary_.last_loss = progress[1];
    summary_.seconds = earlier_seconds_ = progress[2];
    if (earlier_seconds_ < 0.0) throw_file(name, "its seconds must be at least 0");
    if (progress.size() == 5) {
      interval_loss_ = progress[3];
      interval_ = whole_number(4, static_cast<double>(summary_.updates), "its interval");
    }
    summary_.resumed_from = saved_update_ = summary_.updates;
    const ShardSet set{summary_.updates, shard_count(file, files_.checkpoint)};
    if (set.ranks == 0) return model_.load_state(file);
    const std::vector<SafetensorsFile> shards = open_shards(files_.checkpoint, set);
    const int rank = context_.ranks ? context_.ranks->rank() : 0;
    for (int i = rank; i < set.ranks; i += context_.rank_count()) {
      require_finite(shards[static_cast<std::size_t>(i)], shard_path(files_.checkpoint, set, i));
    }
    model_.load_shards(shards);
  }

  void checkpoint() {
    if (files_.checkpoint.empty()) return;
    SafetensorsWriter writer;
    for (const auto& [key, value] : files_.metadata) writer.set_metadata(key, value);
    const std::vector<double> progress = {static_cast<double>(summary_.updates), summary_.last_loss,
                                          summary_.seconds, interval_loss_,
                                          static_cast<double>(interval_)};
    writer.add("training_progress", {progress.size()}, std::span<const double>(progress));
    if (context_.rank_count() > 1) {
      write_shards(writer);
    } else {
      model_.save_state(writer);
      require_finite_state(writer);
      writer.write(files_.checkpoint);
      remove_shards(files_.checkpoint, std::nullopt);
    }
    saved_update_ = summary_.updates;
  }

  // Each rank its own, then the first one what makes them a checkpoint.
  void write_shards(SafetensorsWriter& progress) {
    const ShardSet set{summary_.updates, context_.rank_count()};
    SafetensorsWriter shard;
    model_.save_state(shard);
    require_finite_state(shard);
    shard.write(shard_path(files_.checkpoint, set, context_.ranks->rank()));
    context_.ranks->barrier();
    if (!context_.is_first_rank()) return;
    set_shard_count(progress, set.ranks);
    progress.write(files_.checkpoint);
    // No other rank is at work on the next one: that takes an update of all of them.
    remove_shards(files_.checkpoint, set);
  }

  void require_finite_state(const SafetensorsWriter& writer) {
    not_finite_ = writer.not_finite();
    if (any_rank(context_, !not_finite_.empty())) throw_not_finite();
  }

  void open_log() {
    if (!context_.is_first_rank()) return;
    if (!files_.watch.event_folder.empty()) {
      events_.emplace(files_.watch.event_folder, summary_.resumed_from + 1);
    }
    if (files_.log.empty()) return;
    if (summary_.resumed_from > 0) {
      summary_.history = log_until(files_.log, summary_.resumed_from);
    }
    write_file_atomically(files_.log, log_text(summary_.history));
    // Unlike an append, this makes no file where another run has the folder by now.
    log_.open(files_.log, std::ios::in | std::ios::out | std::ios::ate);
    require_held(files_.log.parent_path());
  }

  // A line of the log, and whoever follows it. None of that counts as training.
  void write_line(bool validated) {
    const Clock::time_point paused = Clock::now();
    const std::int64_t step = summary_.updates;
    const double seconds =
        earlier_seconds_ + std::chrono::duration<double>(paused - started_).count();
    nlohmann::json line = {{"update", step}, {"loss", summary_.last_loss}, {"seconds", seconds}};
    line.update(model_.stage(step).log);
    if (validated) line.update(plan_.validate());
    summary_.history.push_back({step, summary_.last_loss, seconds, line.dump()});
    const LogLine& written = summary_.history.back();
    if (log_.is_open()) {
      require_held(files_.log.parent_path());
      log_ << written.text << '\n' << std::flush;
      if (!log_) throw_file(files_.log.string(), "cannot be written; is the disk full?");
    }
    if (events_) events_->add(step, log_scalars(line));
    if (files_.watch.on_line) files_.watch.on_line(written);
    started_ += Clock::now() - paused;
  }

  void report(std::int64_t step, double seconds) const {
    const bool shown = step % 16 == 0 || step == plan_.updates || model_.updates_at_once() > 1;
    if (!context_.progress || !shown) return;
    const double rate = static_cast<double>(step - summary_.resumed_from) / seconds;
    const std::string stage = model_.stage(step).name;
    context_.report(plan_.name, static_cast<std::uint64_t>(step),
                    static_cast<std::uint64_t>(plan_.updates),
                    fmt::format("{}{}loss {:.4f}, {:.0f} updates/s", stage,
                                stage.empty() ? "" : ", ", shown_loss(), rate));
  }

  // Before the log has a line, the mean of the updates so far.
  double shown_loss() const {
    const bool has_line = summary_.updates > interval_;
    return has_line ? summary_.last_loss : interval_loss_ / static_cast<double>(interval_);
  }

  const Context& context_;
  const TrainingPlan& plan_;
  const TrainingFiles& files_;
  Trainable& model_;
  TrainingSummary summary_;
  double earlier_seconds_ = 0.0;
  double interval_loss_ = 0.0;  // sum over the updates since the log's last line
  std::int64_t interval_ = 0;   // how many these are
  std::int64_t saved_update_ = 0;
  std::string not_finite_;  // a tensor of this rank that no longer is
  Clock::time_point started_, saved_, checked_;
  double check_seconds_ = 0.0;  // that the last look at the parameters took
  std::ofstream log_;
  std::optional<EventFile> events_;
};

}  // namespace

bool Trainable::has_finite_parameters() const {
  SafetensorsWriter writer;
  save_state(writer);
  return writer.not_finite().empty();
}

void Trainable::load_shards(std::span<const SafetensorsFile> shards) {
  throw_file(shards.front().path(), "a checkpoint of this solver must be one file, got {} shards",
             shards.size());
}

double cosine_rate(double rate, double done) {
  return rate * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
}

TrainingSummary run_training(const Context& context, const TrainingPlan& plan,
                             const TrainingFiles& files, Trainable& model) {
  return Loop(context, plan, files, model).run();
}

}  // namespace bridgemark
