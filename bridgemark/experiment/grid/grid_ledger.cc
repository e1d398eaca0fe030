#include "bridgemark/experiment/grid/grid_ledger.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "bridgemark/solver/run/run_files.h"

namespace bridgemark {

namespace {

constexpr double kClaimSeconds = 0.5;  // between looks through runs that other workers have

}  // namespace

GridLedger::GridLedger(const Experiment& experiment, const std::filesystem::path& folder,
                       const std::vector<std::string>& only, const GridAccess& access)
    : folder_(experiment, folder),
      runs_(select_runs(experiment.runs, only)),
      queue_(open_queue(folder_, access)) {
  for (const ExperimentRun& run : runs_) {
    if (folder_.is_scored(run)) {
      remember(run);
      ++skipped_;
    } else {
      left_.push_back(&run);
    }
  }
  const Shard shard = queue_->shard();
  const std::size_t first = left_.size() * static_cast<std::size_t>(shard.number - 1) /
                            static_cast<std::size_t>(shard.count);
  left_.splice(left_.end(), left_, left_.begin(),
               std::next(left_.begin(), static_cast<std::ptrdiff_t>(first)));
  if (!is_shared()) save_results();
}

const ExperimentRun* GridLedger::take_next() {
  if (seconds_since(asked_) < kClaimSeconds) return nullptr;
  for (auto at = left_.begin(); at != left_.end();) {
    const ExperimentRun& run = **at;
    if (!notice_failure(run)) {
      if (!queue_->take(run.id)) {
        ++at;
        continue;
      }
      if (!is_shared() || !folder_.is_scored(run)) {
        left_.erase(at);
        running_.push_back({&run, Clock::now()});
        return &run;
      }
      remember(run);
      ++skipped_;
      queue_->release(run.id);
    }
    at = left_.erase(at);
  }
  asked_ = Clock::now();
  return nullptr;
}

void GridLedger::put_back(const ExperimentRun& run) {
  queue_->release(run.id);
  std::erase_if(running_, [&](const Running& running) { return running.run == &run; });
  left_.push_back(&run);
  asked_ = Clock::now();
}

void GridLedger::record_end(const ExperimentRun& run, std::optional<std::string> failure) {
  const auto ended = std::ranges::find(running_, &run, &Running::run);
  const double seconds = seconds_since(ended->since);
  running_.erase(ended);
  if (!failure) {
    try {
      remember(run);
    } catch (const std::exception& error) {
      failure = error.what();
    }
  }
  if (failure) {
    queue_->mark_failed(run.id, *failure);
    record_failure(run, std::move(*failure));
  } else {
    costs_.add_seconds(run, seconds);
  }
  queue_->release(run.id);
}

void GridLedger::drop_left(const std::function<bool(const ExperimentRun&)>& has_ended) {
  left_.remove_if([&](const ExperimentRun* run) { return has_ended(*run); });
}

bool GridLedger::notice_end(const ExperimentRun& run) {
  if (!folder_.is_scored(run)) return notice_failure(run);
  remember(run);
  return true;
}

bool GridLedger::notice_failure(const ExperimentRun& run) {
  std::optional<std::string> reason = queue_->failure(run.id);
  if (reason) record_failure(run, std::move(*reason));
  return reason.has_value();
}

void GridLedger::record_failure(const ExperimentRun& run, std::string reason) {
  failed_.push_back({run.id, std::move(reason)});
}

void GridLedger::remember(const ExperimentRun& run) {
  std::vector<RunResult> results = folder_.results(run);
  costs_.add_memory(run, results);
  done_[run.id] = std::move(results);
  unsaved_ = true;
}

Overview GridLedger::counts() const {
  Overview counts;
  counts.total = runs_.size();
  counts.done = done_.size();
  counts.skipped = skipped_;
  counts.failed = failed_.size();
  return counts;
}

Overview GridLedger::overview(int side_by_side) const {
  Overview overview = counts();
  for (const Running& running : running_) {
    overview.active.push_back(active(*running.run, seconds_since(running.since)));
  }
  overview.seconds_left = seconds_left(side_by_side);
  return overview;
}

Overview::Active GridLedger::active(const ExperimentRun& run, double seconds) const {
  const bool trained = is_complete_run(folder_.run_folder(run));
  return {run.id, trained ? "evaluate" : "train", seconds, folder_.last_log_line(run)};
}

std::optional<double> GridLedger::seconds_left(int side_by_side) const {
  if (!costs_.knows_seconds()) return std::nullopt;
  double left = 0.0, longest = 0.0;
  for (const ExperimentRun* run : left_) left += costs_.expected_seconds(*run);
  left /= queue_->shard().count;  // the other workers do their part
  for (const Running& running : running_) {
    const double expected = costs_.expected_seconds(*running.run);
    const double rest = std::max(0.0, expected - seconds_since(running.since));
    left += rest;
    longest = std::max(longest, rest);
  }
  return std::max(longest, left / side_by_side);
}

void GridLedger::save_results_if_due() {
  const bool due = unsaved_ && seconds_since(saved_) >= save_interval_;
  if (due && queue_->wants_results()) save_results();
}

// Of every complete run of the experiment in the folder, also of those that were not selected, and
// what was added to them.
void GridLedger::save_results() {
  const auto started = Clock::now();
  queue_->write_results([&] { folder_.write_results(done_); });
  saved_ = Clock::now();
  save_interval_ = seconds_until_results(seconds_since(started));
  unsaved_ = false;
}

GridSummary GridLedger::close() {
  queue_->forget([&](const std::string& id) { return done_.contains(id); });
  save_results();
  return {runs_.size(), skipped_, std::move(failed_), seconds()};
}

}  // namespace bridgemark
