#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/grid/grid_folder.h"
#include "bridgemark/experiment/grid/grid_runner.h"

namespace bridgemark {

// The program's command that makes the runs of one task: the grid's folder and a list of runs
// follow, then options of its own and those of the context. For a grid's own use.
inline constexpr char kTaskCommand[] = "run-part";

inline constexpr int kMostRunsPerTask = 100000;

struct SlurmOptions : GridOptions {      // the program as the nodes see it
  std::vector<std::string> sbatch = {};  // options for sbatch, after and over our own
  int runs_per_task = 1;
  int at_once = 0;  // tasks of an array; 0: as many as Slurm can
};

// Tasks for so many runs.
inline std::size_t tasks_of(std::size_t runs, int runs_per_task) {
  const auto per_task = static_cast<std::size_t>(runs_per_task);
  return (runs + per_task - 1) / per_task;
}

// Throws InvalidArgument for an option of sbatch that would not leave an array of tasks to wait
// for.
void check_sbatch_options(const std::vector<std::string>& options);

// A job array of a grid, by its files:
//   slurm/N/runs.jsonl    its runs, a line each
//   slurm/N/task.sh       its batch script
//   slurm/N/task-I.txt    what task I printed
//   slurm/N/array.json    the job's number and the runs of a task, once it is submitted
class SlurmArray {
 public:
  SlurmArray(const GridFolder& grid, int number);

  // Whether there is a list of runs, of this call or of one before.
  bool exists() const;
  std::filesystem::path task_log(int task) const;

  // Writes the list and the script; what sbatch is to be called with.
  std::vector<std::string> prepare(const Context& context, const std::string& job_name,
                                   const std::vector<const ExperimentRun*>& runs,
                                   const SlurmOptions& options) const;

  struct Submitted {
    std::string job;
    int runs_per_task = 1;
    std::vector<std::string> runs = {};  // their ids
  };
  void write_submitted(const std::string& job, int runs_per_task) const;
  // Empty where sbatch took nothing.
  std::optional<Submitted> read_submitted() const;

 private:
  std::string script(const Context& context, const SlurmOptions& options) const;

  const std::filesystem::path grid_folder_, folder_, list_, script_, record_;
};

// The runs of one task, by the array's list. Throws FileError where it has none.
std::vector<ExperimentRun> read_task_runs(const std::filesystem::path& list, int task,
                                          int runs_per_task);

}  // namespace bridgemark
