#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/results.h"

namespace bridgemark {

// Seconds until a process writes all results again, which took it so long: a fiftieth of its time
// may go into that.
inline double seconds_until_results(double writing) { return std::max(10.0, writing * 50.0); }

// The folder of a grid's runs and results, see run_grid for what it holds. The experiment must
// outlive it.
class GridFolder {
 public:
  GridFolder(const Experiment& experiment, std::filesystem::path path)
      : experiment_(experiment), path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path experiment_file() const { return path_ / "experiment.toml"; }
  std::filesystem::path slurm() const { return path_ / "slurm"; }  // what went to Slurm
  std::filesystem::path run_folder(const ExperimentRun& run) const {
    return path_ / "runs" / run.id;
  }
  std::filesystem::path log_file(const ExperimentRun& run) const {
    return path_ / "logs" / (run.id + ".txt");
  }

  // The last line with something in it, of the last 4 KiB that the run printed.
  std::string last_log_line(const ExperimentRun& run) const;

  // Throws FileError where the folder holds an experiment.
  void refuse_experiment() const;

  // Makes the folders of runs and logs. Throws FileError where a run of the same name has another
  // configuration, pair or data, which would be found out only hours later, and, unless it may go
  // on, where one is there at all.
  void open(bool go_on) const;

  // Keeps the experiment's file as it was given.
  void write_experiment_file() const;
  // The same beside other workers: the file of the first one is everybody's. Throws FileError where
  // this experiment's is another, unless it may change.
  void share_experiment_file(bool may_change) const;

  // Whether the run is there with the scores that the experiment asks for. Scores of another
  // protocol do not count: the run is scored again, not trained again.
  bool is_scored(const ExperimentRun& run) const;
  // One for each pair that the run is scored on.
  std::vector<RunResult> results(const ExperimentRun& run) const;

  // Writes the results of every complete run, those of `known` without reading them again, and what
  // was added to them.
  void write_results(const std::map<std::string, std::vector<RunResult>>& known) const;

  // Removes what a killed process left half-written of the grid's own files.
  void sweep() const;

 private:
  void refuse_conflict(const ExperimentRun& run, bool go_on,
                       std::map<std::string, nlohmann::json>& pair_records) const;

  const Experiment& experiment_;
  const std::filesystem::path path_;
};

}  // namespace bridgemark
