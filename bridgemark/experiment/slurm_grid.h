#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/grid_runner.h"

namespace bridgemark {

// The program's command that runs a task's part of a grid: the grid's folder and a list of cells
// follow, then the options below and those of the context. For a grid's own use.
inline constexpr char kPartCommand[] = "run-part";

// Submissions of a run whose tasks end without a result or a failure of its own: killed ones, or
// those on a node that died.
inline constexpr int kSlurmAttempts = 3;

inline constexpr int kMostRunsPerTask = 100000;

struct SlurmOptions {
  std::filesystem::path program;    // the bridgemark program, as the nodes see it
  std::vector<std::string> only;    // see select_runs
  std::vector<std::string> sbatch;  // options for sbatch, after and over our own
  int runs_per_task = 1;
  int at_once = 0;  // tasks of an array; 0: as many as Slurm can
  int jobs = 0;     // runs side by side in a task
  bool resume = false;
  std::chrono::milliseconds stale_after{60000};
  std::function<void(const Overview&)> overview = {};
  std::function<void(const std::string&)> note = {};  // what was submitted; may be empty
};

// Makes the grid by Slurm and waits for it: job arrays of at most MaxArraySize tasks, each of which
// takes its runs by the claims of a shared folder (run_grid), so that a task that Slurm starts
// twice makes nothing twice. Runs whose task is gone without a result are submitted again. With
// `resume` tasks that are still in the queue are waited for and only the rest is submitted. The
// folder gets besides
//   slurm/N/runs.jsonl    the cells of array N, a line each
//   slurm/N/task.sh       its batch script
//   slurm/N/task-I.txt    what task I printed
//   slurm/N/array.json    the job's number and the runs of a task
// Of the context the device, the threads of a task and stop are used: the device need not be here.
// Throws Interrupted once the context says stop; the jobs go on.
GridSummary run_on_slurm(const Context& context, const Experiment& experiment,
                         const std::filesystem::path& folder, const SlurmOptions& options);

// Task `task` of an array: its runs_per_task lines of the list, as one of many workers.
GridSummary run_part(const Context& context, const std::filesystem::path& folder,
                     const std::filesystem::path& list, int task, int runs_per_task,
                     const GridOptions& options);

// Throws InvalidArgument for an option of sbatch that would not leave an array of tasks to wait
// for.
void check_sbatch_options(const std::vector<std::string>& options);

}  // namespace bridgemark
