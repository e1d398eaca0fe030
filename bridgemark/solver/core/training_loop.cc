#include "bridgemark/solver/core/training_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/atomic_file.h"

namespace bridgemark {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The lines of a log up to an update; a killed run may have logged past its last checkpoint.
std::string log_until(const std::filesystem::path& path, std::int64_t last_update) {
  std::ifstream in(path);
  std::string kept, line;
  while (std::getline(in, line)) {
    const nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
    if (entry.is_discarded() || !entry.is_object()) break;
    if (entry.value("update", std::int64_t{0}) <= last_update) kept += line + "\n";
  }
  return kept;
}

class Loop {
 public:
  Loop(const Context& context, const TrainingPlan& plan, const TrainingFiles& files,
       Trainable& model)
      : context_(context), plan_(plan), files_(files), model_(model) {}

  TrainingSummary run() {
    resume();
    open_log();
    const Clock::time_point started = Clock::now();
    Clock::time_point saved = started;
    double interval_loss = 0.0;
    std::int64_t interval = 0;
    std::vector<double> losses;
    while (summary_.updates < plan_.updates) {
      const std::int64_t first = summary_.updates + 1;
      const std::int64_t to_log = plan_.log_every - summary_.updates % plan_.log_every;
      const std::int64_t stage_last = model_.stage(first).last;
      losses.resize(static_cast<std::size_t>(
          std::min({model_.updates_at_once(), to_log,
                    std::min(plan_.updates, stage_last) - summary_.updates})));
      model_.updates(first, losses);
      check_finite(first, losses);
      for (const double loss : losses) interval_loss += loss;
      interval += static_cast<std::int64_t>(losses.size());
      const std::int64_t step = first + static_cast<std::int64_t>(losses.size()) - 1;
      summary_.updates = step;
      const bool last = step == plan_.updates;
      if (last || step % plan_.log_every == 0 || step == stage_last) {
        summary_.last_loss = interval_loss / static_cast<double>(interval);
        interval_loss = 0.0;
        interval = 0;
        write_log(step, earlier_seconds_ + seconds_since(started));
      }
      report(step, seconds_since(started));
      const bool stop = context_.should_stop();
      if (last || stop || seconds_since(saved) >= plan_.checkpoint_seconds) {
        summary_.seconds = earlier_seconds_ + seconds_since(started);
        checkpoint();
        saved = Clock::now();
      }
      if (stop && !last) {
        throw Interrupted(
            fmt::format("stopped at update {} of {}; go on with --resume", step, plan_.updates));
      }
    }
    return summary_;
  }

 private:
  void check_finite(std::int64_t first, std::span<const double> losses) const {
    for (std::size_t i = 0; i < losses.size(); ++i) {
      if (std::isfinite(losses[i])) continue;
      throw Error(fmt::format(
          "[training] {} diverged at update {}: the loss is {}; the last checkpoint is kept, lower "
          "learning_rate",
          plan_.name, first + static_cast<std::int64_t>(i), losses[i]));
    }
  }

  void resume() {
    if (files_.checkpoint.empty() || !std::filesystem::exists(files_.checkpoint)) return;
    const SafetensorsFile file = SafetensorsFile::load(files_.checkpoint);
    const std::vector<double> progress = file.read_doubles("training_progress");
    if (progress.size() != 3) {
      throw_file(files_.checkpoint.string(), "tensor 'training_progress' must have 3 entries");
    }
    summary_.updates = static_cast<std::int64_t>(progress[0]);
    summary_.last_loss = progress[1];
    summary_.seconds = earlier_seconds_ = progress[2];
    summary_.resumed_from = summary_.updates;
    model_.load_state(file);
  }

  void checkpoint() const {
    if (files_.checkpoint.empty()) return;
    SafetensorsWriter writer;
    for (const auto& [key, value] : files_.metadata) writer.set_metadata(key, value);
    const std::vector<double> progress = {static_cast<double>(summary_.updates), summary_.last_loss,
                                          summary_.seconds};
    writer.add("training_progress", {3}, std::span<const double>(progress));
    model_.save_state(writer);
    writer.write(files_.checkpoint);
  }

  void open_log() {
    if (files_.log.empty()) return;
    const std::string kept =
        summary_.resumed_from > 0 ? log_until(files_.log, summary_.resumed_from) : std::string();
    write_file_atomically(files_.log, kept);
    log_.open(files_.log, std::ios::app);
  }

  void write_log(std::int64_t step, double seconds) {
    if (!log_.is_open()) return;
    nlohmann::json line = {{"update", step}, {"loss", summary_.last_loss}, {"seconds", seconds}};
    line.update(model_.stage(step).log);
    log_ << line.dump() << '\n' << std::flush;
  }

  void report(std::int64_t step, double seconds) const {
    const bool shown = step % 16 == 0 || step == plan_.updates || model_.updates_at_once() > 1;
    if (!context_.progress || !shown) return;
    const double rate = static_cast<double>(step - summary_.resumed_from) / seconds;
    const std::string stage = model_.stage(step).name;
    context_.report(plan_.name, static_cast<std::uint64_t>(step),
                    static_cast<std::uint64_t>(plan_.updates),
                    fmt::format("{}{}loss {:.4f}, {:.0f} updates/s", stage,
                                stage.empty() ? "" : ", ", summary_.last_loss, rate));
  }

  const Context& context_;
  const TrainingPlan& plan_;
  const TrainingFiles& files_;
  Trainable& model_;
  TrainingSummary summary_;
  double earlier_seconds_ = 0.0;
  std::ofstream log_;
};

}  // namespace

double cosine_rate(double rate, double done) {
  return rate * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
}

TrainingSummary run_training(const Context& context, const TrainingPlan& plan,
                             const TrainingFiles& files, Trainable& model) {
  return Loop(context, plan, files, model).run();
}

}  // namespace bridgemark
