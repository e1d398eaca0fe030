#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/clock.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/grid/grid_folder.h"
#include "bridgemark/experiment/grid/grid_progress.h"
#include "bridgemark/experiment/grid/run_costs.h"
#include "bridgemark/experiment/grid/run_queue.h"
#include "bridgemark/experiment/results.h"

namespace bridgemark {

// What became of each run of a grid in a folder: it is left, running here, done or failed. A run
// leaves the queue by take_next() and comes to its end by record_end(); between them the runner
// (grid_runner.h) makes it. What other processes make in the folder is noticed on the way. Every
// so often, and at the end, the ledger writes the results of all runs.
class GridLedger {
 public:
  struct Running {
    const ExperimentRun* run;
    Clock::time_point since;
  };

  // Opens the folder in its role and looks through it for runs that are done. The ledger has the
  // runs that `only` selects (select_runs); the experiment must outlive it.
  GridLedger(const Experiment& experiment, const std::filesystem::path& folder,
             const std::vector<std::string>& only, const GridAccess& access);

  const GridFolder& folder() const { return folder_; }
  bool is_shared() const { return queue_->is_shared(); }
  double seconds() const { return seconds_since(opened_); }

  std::size_t total() const { return runs_.size(); }
  std::size_t done() const { return done_.size(); }
  const std::list<const ExperimentRun*>& left() const { return left_; }
  const std::vector<Running>& running() const { return running_; }
  bool is_settled() const { return left_.empty() && running_.empty(); }

  // The next run that no other worker has, which is running from now on; null where there is none
  // for now.
  const ExperimentRun* take_next();
  // Whether a running run is still this process's: another worker may have taken it over.
  bool holds(const ExperimentRun& run) const { return queue_->holds(run.id); }
  // A running run is left again, for any worker.
  void put_back(const ExperimentRun& run);
  // A running run is done, or failed for this reason or for want of results that can be read.
  void record_end(const ExperimentRun& run, std::optional<std::string> failure);

  // Looks at all runs that are left and drops those for which `has_ended` says so, having called
  // notice_end() or record_failure().
  void drop_left(const std::function<bool(const ExperimentRun&)>& has_ended);
  // Whether a run that is left is done or has failed elsewhere.
  bool notice_end(const ExperimentRun& run);
  void record_failure(const ExperimentRun& run, std::string reason);

  std::uint64_t expected_bytes(const ExperimentRun& run) const {
    return costs_.expected_bytes(run);
  }

  // How many runs are in which state, without those that run.
  Overview counts() const;
  // The same with those that run here, so many side by side.
  Overview overview(int side_by_side) const;
  Overview::Active active(const ExperimentRun& run, double seconds) const;

  void save_results_if_due();
  void save_results();
  // Leaves the folder as it is to be once nothing is running.
  GridSummary close();

 private:
  void remember(const ExperimentRun& run);
  bool notice_failure(const ExperimentRun& run);
  std::optional<double> seconds_left(int side_by_side) const;

  const Clock::time_point opened_ = Clock::now();
  const GridFolder folder_;
  const std::vector<ExperimentRun> runs_;
  const std::unique_ptr<RunQueue> queue_;
  std::list<const ExperimentRun*> left_;
  std::vector<Running> running_;
  std::map<std::string, std::vector<RunResult>> done_;
  std::vector<FailedRun> failed_;
  std::size_t skipped_ = 0;  // of those that are done: before, or by other workers
  RunCosts costs_;
  Clock::time_point asked_{};  // when the queue had no run; long ago
  // Of the results on disk.
  bool unsaved_ = false;
  Clock::time_point saved_ = Clock::now();
  double save_interval_ = seconds_until_results(0.0);
};

}  // namespace bridgemark
