#include "bridgemark/experiment/grid/slurm_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/experiment/grid/grid_ledger.h"
#include "bridgemark/experiment/grid/slurm.h"

namespace bridgemark {

namespace {

constexpr auto kWaitInterval = std::chrono::milliseconds(50);
constexpr double kQueueOverviewSeconds = 0.5;
// Between looks at the queue, longer while nothing changes: a busy slurmctld serves everybody.
constexpr double kFirstLookSeconds = 1.0, kLongestLookSeconds = 15.0, kLookGrowth = 1.3;
constexpr double kLookShare = 0.1;       // of the time that may go into looking
constexpr double kResubmitSeconds = 10;  // between submissions while tasks are in the queue
// A task that has left the queue may have written its result to a file system that shows it late.
constexpr int kLooksUntilGone = 2;
constexpr std::size_t kShownTasks = 10;  // in the overview, of those that run

// Where a run was submitted to last, and what has been seen of it there.
struct Submission {
  std::string job;  // empty: nowhere
  int task = 0;
  int array = 0;  // the folder slurm/N
  int attempts = 0;
  int looks_gone = 0;   // in which its task was not in the queue
  bool queued = false;  // in this call
};

class SlurmGrid {
 public:
  SlurmGrid(const Context& context, const Experiment& experiment,
            const std::filesystem::path& folder, const SlurmOptions& options)
      : context_(context),
        options_(options),
        job_name_(experiment.name),
        max_array_size_(slurm_.max_array_size()),
        ledger_(experiment, std::filesystem::absolute(folder), options.only, access(options)) {
    find_earlier_arrays();
  }

  GridSummary run() {
    while (!ledger_.is_settled()) {
      look();
      submit_missing();
      ledger_.save_results_if_due();
      wait();
    }
    return ledger_.close();
  }

 private:
  static GridAccess access(const SlurmOptions& options) {
    GridAccess access;
    access.role = GridRole::kSubmitter;
    access.resume = options.resume;
    access.stale_after = options.stale_after;
    return access;
  }

  // What an earlier call has submitted and may still be in the queue.
  void find_earlier_arrays() {
    std::map<std::string, Submission> earlier;
    for (; SlurmArray(ledger_.folder(), next_array_).exists(); ++next_array_) {
      const auto array = SlurmArray(ledger_.folder(), next_array_).read_submitted();
      if (!array) continue;
      jobs_.add(array->job);
      int line = 0;
      for (const std::string& id : array->runs) {
        earlier[id] = {array->job, line++ / array->runs_per_task, next_array_};
      }
    }
    for (const ExperimentRun* run : ledger_.left()) {
      const auto found = earlier.find(run->id);
      if (found == earlier.end()) continue;
      found->second.looks_gone = kLooksUntilGone - 1;
      submissions_[run->id] = found->second;
    }
  }

  void look() {
    const auto started = Clock::now();
    const std::size_t before = ledger_.left().size();
    missed_ = false;
    jobs_.look(slurm_);
    ledger_.drop_left([&](const ExperimentRun& run) { return has_ended(run); });
    look_seconds_ = ledger_.left().size() < before || missed_
                        ? kFirstLookSeconds
                        : std::min(kLongestLookSeconds, kLookGrowth * look_seconds_);
    look_seconds_ = std::max(look_seconds_, seconds_since(started) / kLookShare);
    looked_ = Clock::now();
  }

  // Whether the run is done or has failed for good; notes besides whether its task is gone.
  bool has_ended(const ExperimentRun& run) {
    Submission& submission = submissions_[run.id];
    const SlurmTask* task = jobs_.find(submission.job, submission.task);
    const bool alive = task != nullptr && task->alive();
    submission.queued = submission.queued || alive;
    if (alive && task->state == "PENDING") {
      submission.looks_gone = 0;
      return false;
    }
    if (ledger_.notice_end(run)) return true;
    if (submission.job.empty() || !jobs_.answered()) return false;
    if (task != nullptr && task->state == "CANCELLED" && submission.queued) {
      ledger_.record_failure(
          run, fmt::format("its task {}_{} was cancelled", submission.job, submission.task));
      return true;
    }
    submission.looks_gone = alive ? 0 : submission.looks_gone + 1;
    missed_ = missed_ || submission.looks_gone > 0;
    return submission.looks_gone >= kLooksUntilGone && give_up_task(run, submission);
  }

  // Has a run whose task is gone submitted again; true where that was done often enough.
  bool give_up_task(const ExperimentRun& run, Submission& submission) {
    submission.job.clear();
    if (submission.attempts < kSlurmAttempts) return false;
    const SlurmArray array(ledger_.folder(), submission.array);
    ledger_.record_failure(
        run, fmt::format("its task ended {} times without a result; see {}", submission.attempts,
                         array.task_log(submission.task).string()));
    return true;
  }

  void submit_missing() {
    std::vector<const ExperimentRun*> missing;
    for (const ExperimentRun* run : ledger_.left()) {
      if (submissions_[run->id].job.empty()) missing.push_back(run);
    }
    const bool others = missing.size() < ledger_.left().size();
    if (missing.empty() || (others && seconds_since(submitted_) < kResubmitSeconds)) return;
    const auto at_once = static_cast<std::size_t>(max_array_size_) *
                         static_cast<std::size_t>(options_.runs_per_task);
    for (std::size_t first = 0; first < missing.size(); first += at_once) {
      const std::size_t count = std::min(at_once, missing.size() - first);
      submitted_ = Clock::now();
      try {
        submit({missing.begin() + static_cast<std::ptrdiff_t>(first),
                missing.begin() + static_cast<std::ptrdiff_t>(first + count)});
      } catch (const Error& error) {
        // Limits on the jobs of a user: the rest goes once some have left the queue.
        if (!others && first == 0) throw;
        tell(fmt::format("{}; tried again later", error.what()));
        return;
      }
    }
  }

  void submit(const std::vector<const ExperimentRun*>& runs) {
    const int number = next_array_++;
    const SlurmArray array(ledger_.folder(), number);
    const std::string job = slurm_.submit(array.prepare(context_, job_name_, runs, options_));
    array.write_submitted(job, options_.runs_per_task);
    jobs_.add(job);
    int line = 0;
    for (const ExperimentRun* run : runs) {
      Submission& submission = submissions_[run->id];
      const int attempts = submission.attempts + 1;
      submission = {job, line++ / options_.runs_per_task, number, attempts};
      submission.queued = true;
    }
    const std::size_t tasks = tasks_of(runs.size(), options_.runs_per_task);
    tell(fmt::format("job {}: {} {} in {} {}", job, runs.size(), runs.size() == 1 ? "run" : "runs",
                     tasks, tasks == 1 ? "task" : "tasks"));
  }

  void tell(const std::string& text) const {
    if (options_.note) options_.note(text);
  }

  // Until the next look at the queue.
  void wait() {
    while (!ledger_.is_settled() && seconds_since(looked_) < look_seconds_) {
      if (context_.should_stop()) stop();
      report();
      std::this_thread::sleep_for(kWaitInterval);
    }
  }

  [[noreturn]] void stop() {
    ledger_.save_results();
    std::string jobs;
    for (const std::string& job : jobs_.alive()) jobs += " " + job;
    throw Interrupted(
        fmt::format("no longer waiting, with {} of {} runs done; --slurm --resume waits again{}",
                    ledger_.done(), ledger_.total(),
                    jobs.empty() ? "" : ", scancel" + jobs + " ends what is in the queue"));
  }

  void report() {
    if (!options_.overview || seconds_since(reported_) < kQueueOverviewSeconds) return;
    reported_ = Clock::now();
    Overview overview = ledger_.counts();
    for (const ExperimentRun* run : ledger_.left()) {
      const Submission& submission = submissions_[run->id];
      const SlurmTask* task = jobs_.find(submission.job, submission.task);
      if (task == nullptr || task->state != "RUNNING") continue;
      if (overview.active.size() == kShownTasks) {
        ++overview.more_active;
        continue;
      }
      const auto since = running_since_.emplace(run->id, Clock::now()).first->second;
      overview.active.push_back(ledger_.active(*run, seconds_since(since)));
    }
    if (const std::size_t made = overview.done - overview.skipped; made > 0) {
      overview.seconds_left = ledger_.seconds() / static_cast<double>(made) *
                              static_cast<double>(ledger_.left().size());
    }
    overview.queue = jobs_.text();
    options_.overview(overview);
  }

  const Context& context_;
  const SlurmOptions& options_;
  const std::string job_name_;
  const Slurm slurm_ = {};
  const int max_array_size_;
  GridLedger ledger_;
  SlurmJobs jobs_;
  std::map<std::string, Submission> submissions_;  // by the run's id, as the next
  std::map<std::string, Clock::time_point> running_since_;
  int next_array_ = 1;
  bool missed_ = false;  // a task is gone, as the last look showed
  double look_seconds_ = kFirstLookSeconds;
  Clock::time_point looked_ = Clock::now();
  Clock::time_point submitted_{}, reported_{};  // long ago
};

}  // namespace

GridSummary run_on_slurm(const Context& context, const Experiment& experiment,
                         const std::filesystem::path& folder, const SlurmOptions& options) {
  check_sbatch_options(options.sbatch);
  return SlurmGrid(context, experiment, folder, options).run();
}

GridSummary run_task(const Context& context, const std::filesystem::path& folder,
                     const std::filesystem::path& list, int task, int runs_per_task,
                     const WorkerOptions& options) {
  Experiment part;
  part.runs = read_task_runs(list, task, runs_per_task);
  GridAccess access;
  access.role = GridRole::kTask;
  access.stale_after = options.stale_after;
  GridLedger ledger(part, folder, {}, access);
  // A worker that has died is noticed in this time; runs of one that lives are left to it.
  return make_runs(context, ledger, options, 2 * options.stale_after);
}

}  // namespace bridgemark
