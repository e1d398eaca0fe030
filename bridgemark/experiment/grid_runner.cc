#include "bridgemark/experiment/grid_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/experiment/cell.h"
#include "bridgemark/experiment/child_process.h"
#include "bridgemark/experiment/device_sharing.h"
#include "bridgemark/experiment/grid_folder.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/disk/paths.h"

namespace bridgemark {

namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(20);
constexpr double kOverviewSeconds = 0.2;
constexpr auto kSharedResultsAge = std::chrono::seconds(60);
constexpr double kClaimSeconds = 0.5;  // between looks at what others have
constexpr double kDeathSeconds = 2.0;  // until all processes that are killed together are dead
constexpr std::uint64_t kFirstGuessBytes = std::uint64_t{1} << 30;  // of a run not seen before

class GridRunner {
 public:
  GridRunner(const Context& context, const Experiment& experiment,
             const std::filesystem::path& folder, const GridOptions& options)
      : context_(context),
        folder_(experiment, folder),
        options_(options),
        runs_(select_runs(experiment.runs, options.only)),
        slots_(options.jobs > 0 ? options.jobs : context.threads()) {}

  GridSummary run() {
    const auto started = Clock::now();
    prepare();
    if (context_.device == Device::kCuda) share_device();
    while (!waiting_.empty() || !active_.empty()) {
      if (context_.should_stop()) stop();
      if (claims_) drop_lost();
      start_what_fits();
      collect();
      report();
      if (gives_way()) break;
      std::this_thread::sleep_for(kPollInterval);
    }
    if (claims_) claims_->remove_settled([&](const std::string& id) { return done_.contains(id); });
    save_results();
    return {runs_.size(), skipped_, std::move(failed_), seconds_since(started)};
  }

 private:
  struct Job {
    const ExperimentRun* run;
    Clock::time_point started;
    std::unique_ptr<ChildProcess> process;
  };

  // What finished runs of the same solver and dimension took.
  struct Seen {
    double seconds = 0.0;
    int count = 0;
    std::uint64_t peak_bytes = 0;
  };

  void prepare() {
    if (!options_.shard && path_exists(folder_.record()) && !options_.resume) {
      throw_file(folder_.path().string(),
                 "already holds an experiment; give another folder or resume it");
    }
    create_folder(folder_.path());
    lock_ = std::make_unique<FolderLock>(
        folder_.path(), options_.shard ? FolderLock::Holders::kMany : FolderLock::Holders::kOne);
    folder_.open(options_.shard || options_.resume);
    if (options_.shard) {
      claims_ = std::make_unique<GridClaims>(folder_.path(), *options_.shard, options_.stale_after);
      if (!options_.part_patience) {
        claims_->alone([&] { folder_.share_record(options_.resume); });
        if (options_.resume) claims_->forget_failures();
      }
    } else {
      folder_.sweep();
      folder_.write_record();
    }
    for (const ExperimentRun& run : runs_) {
      if (folder_.is_scored(run)) {
        remember(run);
        ++skipped_;
      } else {
        waiting_.push_back(&run);
      }
    }
    if (claims_) {
      claims_->reorder(waiting_);
    } else {
      save_results();
    }
  }

  // As many runs at once as the GPU is asked or able to serve.
  void share_device() {
    const int wanted =
        std::min<int>(options_.jobs > 0 ? options_.jobs : std::min(kRunsOnOneGpu, slots_),
                      static_cast<int>(waiting_.size()));
    if (wanted > 1) sharing_ = std::make_unique<DeviceSharing>();
    const bool shared = sharing_ && sharing_->works();
    slots_ = std::max(1, shared || options_.jobs > 0 ? wanted : 1);
    if (!sharing_ || !options_.note) return;
    const std::string how =
        shared ? "which they share by its Multi-Process Service"
               : fmt::format("which serves one process at a time: {}", sharing_->problem());
    options_.note(
        fmt::format("{} {} at a time on the GPU, {}", slots_, slots_ == 1 ? "run" : "runs", how));
  }

  void start_what_fits() {
    while (!waiting_.empty() && static_cast<int>(active_.size()) < slots_ && memory_allows()) {
      const ExperimentRun* next = claims_ ? next_unclaimed() : next_in_order();
      if (next == nullptr) return;
      const ExperimentRun& run = *next;
      // The threads are shared out among the runs that are left, at most one share a slot.
      const int share =
          std::min<int>(slots_, static_cast<int>(active_.size() + waiting_.size()) + 1);
      const int threads = std::max(1, context_.threads() / share);
      active_.push_back({&run, Clock::now(), start(run, threads)});
      busy_ = Clock::now();
    }
  }

  const ExperimentRun* next_in_order() {
    const ExperimentRun* run = waiting_.front();
    waiting_.erase(waiting_.begin());
    return run;
  }

  // Runs that another worker has taken over, taking this one for dead.
  void drop_lost() {
    if (seconds_since(checked_) < kClaimSeconds) return;
    checked_ = Clock::now();
    for (std::size_t i = 0; i < active_.size();) {
      if (claims_->holds(active_[i].run->id)) {
        ++i;
        continue;
      }
      waiting_.push_back(active_[i].run);
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));  // which kills its process
    }
  }

  // Whether a part's runs are in other hands.
  bool gives_way() const {
    return options_.part_patience && active_.empty() &&
           Clock::now() - busy_ > *options_.part_patience;
  }

  // The next that no other worker has, which is this one's from now on; null where there is none
  // for now. Runs that others have done or failed at are left out on the way.
  const ExperimentRun* next_unclaimed() {
    if (seconds_since(asked_) < kClaimSeconds) return nullptr;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const ExperimentRun* run = *at;
      if (std::optional<std::string> reason = claims_->failure(run->id)) {
        failed_.push_back({run->id, std::move(*reason)});
      } else if (!claims_->take(run->id)) {
        ++at;
        continue;
      } else if (!folder_.is_scored(*run)) {
        waiting_.erase(at);
        return run;
      } else {
        remember(*run);
        ++skipped_;
        claims_->release(run->id);
      }
      at = waiting_.erase(at);
    }
    asked_ = Clock::now();
    return nullptr;
  }

  // The first run always starts; another one where what the active ones may still take leaves
  // enough for it.
  bool memory_allows() const {
    if (active_.empty()) return true;
    std::uint64_t promised = 0;
    for (const Job& job : active_) {
      const std::uint64_t held = resident_memory_bytes(job.process->id());
      promised += expected_bytes(*job.run) - std::min(held, expected_bytes(*job.run));
    }
    return promised + expected_bytes(*waiting_.front()) <= available_memory_bytes();
  }

  std::uint64_t expected_bytes(const ExperimentRun& run) const {
    const auto seen = seen_.find({run.config.solver, run.dim});
    return seen == seen_.end() ? kFirstGuessBytes : seen->second.peak_bytes;
  }

  std::unique_ptr<ChildProcess> start(const ExperimentRun& run, int threads) const {
    const bool shared = sharing_ && sharing_->works();
    std::vector<std::string> arguments = options_.program_arguments;
    arguments.insert(
        arguments.end(),
        {kCellCommand, cell_text(run), folder_.run_folder(run).string(), "--threads",
         std::to_string(threads), "--device", std::string(device_name(context_.device)),
         kSharersOption, std::to_string(shared ? slots_ : 1)});
    return std::make_unique<ChildProcess>(
        options_.program, arguments, "/dev/null", folder_.log_file(run),
        shared ? sharing_->environment() : std::vector<std::string>());
  }

  void collect() {
    for (std::size_t i = 0; i < active_.size();) {
      Job& job = active_[i];
      const std::optional<int> status = job.process->poll();
      if (!status) {
        ++i;
        continue;
      }
      finish(job, *status);
      busy_ = Clock::now();
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (unsaved_ && seconds_since(saved_) >= results_interval_ && !recently_shared())
      save_results();
  }

  // Whether this or another worker wrote the results of all not long ago.
  bool recently_shared() const {
    const std::filesystem::path results = folder_.path() / kResultsJsonl;
    return claims_ && path_exists(results) && claims_->age(results) < kSharedResultsAge;
  }

  // What ended a run by a signal may be ending this worker as well, a little later: a machine that
  // goes down, a job that is cancelled. The run has not failed then.
  bool dies_too() const {
    const auto start = Clock::now();
    while (seconds_since(start) < kDeathSeconds && !context_.should_stop()) {
      std::this_thread::sleep_for(kPollInterval);
    }
    return context_.should_stop();
  }

  void finish(const Job& job, int status) {
    const ExperimentRun& run = *job.run;
    if (claims_ && (status == kCellBusy || (status != 0 && !claims_->holds(run.id)))) {
      claims_->release(run.id);  // another worker, taken for dead or not, is still at it
      waiting_.push_back(&run);
      asked_ = Clock::now();
      return;
    }
    if (claims_ && status > 128 && dies_too()) {
      waiting_.push_back(&run);
      return;
    }
    try {
      if (status != 0) {
        const std::string said = folder_.last_log_line(run);
        const std::string how = status > 128 ? fmt::format("ended by signal {}", status - 128)
                                             : fmt::format("ended with status {}", status);
        throw Error(said.empty() ? how : fmt::format("{}: {}", how, said));
      }
      remember(run);
    } catch (const std::exception& error) {
      failed_.push_back({run.id, error.what()});
      if (claims_) {
        claims_->mark_failed(run.id, error.what());
        claims_->release(run.id);
      }
      return;
    }
    if (claims_) claims_->release(run.id);
    Seen& seen = seen_[{run.config.solver, run.dim}];
    seen.seconds += seconds_since(job.started);
    ++seen.count;
  }

  void remember(const ExperimentRun& run) {
    std::vector<RunResult> results = folder_.results(run);
    Seen& seen = seen_[{run.config.solver, run.dim}];
    for (const RunResult& result : results) {
      seen.peak_bytes = std::max(seen.peak_bytes, result.peak_memory_bytes);
    }
    done_[run.id] = std::move(results);
    unsaved_ = true;
  }

  // Every complete run of the experiment in the folder, also those that were not selected, and what
  // was added to them.
  void save_results() {
    if (options_.part_patience) return;
    const auto started = Clock::now();
    if (claims_) {
      claims_->alone([&] { folder_.write_results(done_); });
    } else {
      folder_.write_results(done_);
    }
    saved_ = Clock::now();
    results_interval_ = seconds_until_results(seconds_since(started));
    unsaved_ = false;
  }

  [[noreturn]] void stop() {
    for (const Job& job : active_) job.process->terminate();
    for (Job& job : active_) {
      while (!job.process->poll()) std::this_thread::sleep_for(kPollInterval);
    }
    active_.clear();
    save_results();
    throw Interrupted(fmt::format("stopped with {} of {} runs done; go on with {}", done_.size(),
                                  runs_.size(), claims_ ? "the same command" : "--resume"));
  }

  void report() {
    if (!options_.overview || seconds_since(reported_) < kOverviewSeconds) return;
    reported_ = Clock::now();
    Overview overview;
    overview.total = runs_.size();
    overview.done = done_.size();
    overview.skipped = skipped_;
    overview.failed = failed_.size();
    for (const Job& job : active_) {
      const bool trained = is_complete_run(folder_.run_folder(*job.run));
      overview.active.push_back({job.run->id, trained ? "evaluate" : "train",
                                 seconds_since(job.started), folder_.last_log_line(*job.run)});
    }
    overview.seconds_left = seconds_left();
    options_.overview(overview);
  }

  // Runs that are left take what those of the same solver and dimension took, or the mean of all
  // where there is none yet.
  std::optional<double> seconds_left() const {
    double total = 0.0;
    int count = 0;
    for (const auto& [key, seen] : seen_) {
      total += seen.seconds;
      count += seen.count;
    }
    if (count == 0) return std::nullopt;
    const auto expected = [&](const ExperimentRun& run) {
      const auto seen = seen_.find({run.config.solver, run.dim});
      return seen != seen_.end() && seen->second.count > 0
                 ? seen->second.seconds / seen->second.count
                 : total / count;
    };
    double left = 0.0;
    for (const ExperimentRun* run : waiting_) left += expected(*run);
    if (options_.shard) left /= options_.shard->count;  // the other workers do their part
    double longest = 0.0;
    for (const Job& job : active_) {
      const double rest = std::max(0.0, expected(*job.run) - seconds_since(job.started));
      left += rest;
      longest = std::max(longest, rest);
    }
    return std::max(longest, left / slots_);
  }

  const Context& context_;
  const GridFolder folder_;
  const GridOptions& options_;
  const std::vector<ExperimentRun> runs_;
  int slots_;  // runs side by side
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<GridClaims> claims_;  // where the folder has several workers
  std::unique_ptr<DeviceSharing> sharing_;
  std::vector<const ExperimentRun*> waiting_;
  std::vector<Job> active_;
  std::map<std::string, std::vector<RunResult>> done_;
  std::vector<FailedRun> failed_;
  std::map<std::pair<std::string, int>, Seen> seen_;
  std::size_t skipped_ = 0;
  bool unsaved_ = false;
  Clock::time_point saved_ = Clock::now(), busy_ = Clock::now();
  double results_interval_ = seconds_until_results(0.0);
  Clock::time_point reported_{}, asked_{}, checked_{};  // long ago
};

}  // namespace

GridSummary run_grid(const Context& context, const Experiment& experiment,
                     const std::filesystem::path& folder, const GridOptions& options) {
  return GridRunner(context, experiment, folder, options).run();
}

}  // namespace bridgemark
