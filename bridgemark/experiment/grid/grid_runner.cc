#include "bridgemark/experiment/grid/grid_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>

#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/experiment/grid/run_slots.h"
#include "bridgemark/experiment/make_run.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/program/child_process.h"
#include "bridgemark/solver/outside/python_solvers.h"

namespace bridgemark {

namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(20);
constexpr double kOverviewSeconds = 0.2;
constexpr double kLostRunSeconds = 0.5;  // between looks whether runs are still this worker's
constexpr double kDeathSeconds = 2.0;    // until all processes that are killed together are dead
constexpr int kMostFalseBusy = 3;        // times that a run may be called busy that nobody has

// Whether another process works in the folder.
bool is_at_work_in(const std::filesystem::path& folder) {
  try {
    const FolderLock lock(folder, FolderLock::Holders::kOne, {.longest = {}});
    return false;
  } catch (const FolderBusy&) {
    return true;
  } catch (const FileError&) {  // there is no such folder
    return false;
  }
}

class GridRunner {
 public:
  GridRunner(const Context& context, GridLedger& ledger, const WorkerOptions& options,
             std::optional<std::chrono::milliseconds> idle_limit)
      : context_(context),
        ledger_(ledger),
        options_(options),
        idle_limit_(idle_limit),
        slots_(context, options.jobs, ledger.left().size(), options.note) {}

  GridSummary run() {
    while (!ledger_.is_settled() && !is_idle()) {
      if (context_.should_stop()) stop();
      end_lost_runs();
      start_what_fits();
      collect();
      ledger_.save_results_if_due();
      report();
      std::this_thread::sleep_for(kPollInterval);
    }
    return ledger_.close();
  }

 private:
  using Processes = std::map<const ExperimentRun*, ChildProcess>;

  bool is_idle() const {
    return idle_limit_ && processes_.empty() && Clock::now() - busy_ > *idle_limit_;
  }

  // Ends runs that another worker has taken over, taking this one for dead.
  void end_lost_runs() {
    if (seconds_since(checked_) < kLostRunSeconds) return;
    checked_ = Clock::now();
    std::erase_if(processes_, [&](const Processes::value_type& process) {
      const bool is_lost = !ledger_.holds(*process.first);
      if (is_lost) ledger_.put_back(*process.first);
      return is_lost;  // erasing kills the process
    });
  }

  void start_what_fits() {
    while (!ledger_.left().empty() && static_cast<int>(processes_.size()) < slots_.count() &&
           memory_allows()) {
      const ExperimentRun* run = ledger_.take_next();
      if (run == nullptr) return;
      processes_.emplace(run, start(*run));
      busy_ = Clock::now();
    }
  }

  // The first run always starts; another one where what the active ones may still take leaves
  // enough for it.
  bool memory_allows() const {
    if (processes_.empty()) return true;
    std::uint64_t promised = ledger_.expected_bytes(*ledger_.left().front());
    for (const auto& [run, process] : processes_) {
      const std::uint64_t expected = ledger_.expected_bytes(*run);
      promised += expected - std::min(expected, resident_memory_bytes(process.id()));
    }
    return promised <= available_memory_bytes();
  }

  ChildProcess start(const ExperimentRun& run) const {
    std::filesystem::path program = options_.program;
    std::vector<std::string> arguments = options_.program_arguments;
    const OutsideSolver* outside = find_outside_solver(run.config.solver);
    if (outside && !outside->runs_here()) {
      program = "/usr/bin/env";  // which looks in the search path
      arguments = python_command();
    }
    arguments.insert(arguments.end(),
                     {kMakeRunCommand, run_text(run), ledger_.folder().run_folder(run).string()});
    for (std::string& argument :
         slots_.arguments(ledger_.running().size() + ledger_.left().size())) {
      arguments.push_back(std::move(argument));
    }
    return ChildProcess(program, arguments, "/dev/null", ledger_.folder().log_file(run),
                        slots_.environment());
  }

  void collect() {
    for (auto at = processes_.begin(); at != processes_.end();) {
      auto& [run, process] = *at;
      const std::optional<int> status = process.poll();
      if (!status) {
        ++at;
        continue;
      }
      finish(*run, *status);
      busy_ = Clock::now();
      at = processes_.erase(at);
    }
  }

  void finish(const ExperimentRun& run, int status) {
    if (status == 0) return ledger_.record_end(run, std::nullopt);
    if (ledger_.is_shared() && is_to_be_made_again(run, status)) return ledger_.put_back(run);
    const std::string said = ledger_.folder().last_log_line(run);
    std::string how = status_text(status);
    if (status == kRunBusy && false_busy_.contains(run.id)) {
      how += fmt::format(", as one that another process has, {} times, but none has it",
                         kMostFalseBusy);
    }
    ledger_.record_end(run, said.empty() ? how : fmt::format("{}: {}", how, said));
  }

  // Whether a run has not failed although its process did: another worker is at it, or this one is
  // about to stop.
  bool is_to_be_made_again(const ExperimentRun& run, int status) {
    if (!ledger_.holds(run)) return true;
    if (status == kRunBusy) return is_busy(run);
    return status > kSignalStatus && stop_follows();
  }

  // Code of others may end with that status as well, and does so each time.
  bool is_busy(const ExperimentRun& run) {
    if (is_at_work_in(ledger_.folder().run_folder(run))) return true;
    return ++false_busy_[run.id] < kMostFalseBusy;
  }

  // Where a machine goes down or a job is cancelled, all processes get their signal, but this
  // worker may get its own a little after the run got one. Waits for it.
  bool stop_follows() const {
    const auto start = Clock::now();
    while (seconds_since(start) < kDeathSeconds && !context_.should_stop()) {
      std::this_thread::sleep_for(kPollInterval);
    }
    return context_.should_stop();
  }

  [[noreturn]] void stop() {
    for (const auto& [run, process] : processes_) process.terminate();
    for (auto& [run, process] : processes_) {
      while (!process.poll()) std::this_thread::sleep_for(kPollInterval);
    }
    ledger_.save_results();
    throw Interrupted(fmt::format("stopped with {} of {} runs done; go on with {}", ledger_.done(),
                                  ledger_.total(),
                                  ledger_.is_shared() ? "the same command" : "--resume"));
  }

  void report() {
    if (!options_.overview || seconds_since(reported_) < kOverviewSeconds) return;
    reported_ = Clock::now();
    options_.overview(ledger_.overview(slots_.count()));
  }

  const Context& context_;
  GridLedger& ledger_;
  const WorkerOptions& options_;
  const std::optional<std::chrono::milliseconds> idle_limit_;
  const RunSlots slots_;
  Processes processes_;
  std::map<std::string, int> false_busy_;     // by the run, how often its process said so
  Clock::time_point busy_ = Clock::now();     // when a run started or ended last
  Clock::time_point reported_{}, checked_{};  // long ago
};

}  // namespace

GridSummary run_grid(const Context& context, const Experiment& experiment,
                     const std::filesystem::path& folder, const WorkerOptions& options) {
  GridAccess access;
  access.role = options.shard ? GridRole::kWorker : GridRole::kAlone;
  access.resume = options.resume;
  access.shard = options.shard.value_or(Shard{});
  access.stale_after = options.stale_after;
  GridLedger ledger(experiment, folder, options.only, access);
  return make_runs(context, ledger, options);
}

GridSummary make_runs(const Context& context, GridLedger& ledger, const WorkerOptions& options,
                      std::optional<std::chrono::milliseconds> idle_limit) {
  return GridRunner(context, ledger, options, idle_limit).run();
}

}  // namespace bridgemark
