#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/grid/grid_ledger.h"
#include "bridgemark/experiment/grid/grid_progress.h"
#include "bridgemark/experiment/grid/run_queue.h"

namespace bridgemark {

// How a grid is made, whether its runs are made here or by Slurm.
struct GridOptions {
  std::filesystem::path program;  // the bridgemark program, which makes the runs
  std::vector<std::string> only;  // see select_runs
  int jobs = 0;                   // runs side by side on a machine; 0: see run_slots.h
  bool resume = false;
  std::chrono::milliseconds stale_after{60000};        // see GridAccess
  std::function<void(const Overview&)> overview = {};  // called a few times a second; may be empty
  std::function<void(const std::string&)> note = {};   // how a GPU is shared, what was submitted
};

struct WorkerOptions : GridOptions {
  std::optional<Shard> shard = {};                  // one of several workers in the folder
  std::vector<std::string> program_arguments = {};  // that come before those of a run
};

// Runs the grid in `folder`:
//   experiment.toml       the file as it was given
//   runs/ID/              a run folder each (solver/run/run.h), and scores.json beside its result
//   logs/ID.txt           what the run printed
//   results.csv, .jsonl   every score of every complete run, see results.h
// Runs start in the order of the file, as many at a time as there are slots for them (run_slots.h)
// and free memory. Complete runs are skipped and interrupted ones go on, both with `resume` only:
// without it a folder that holds an experiment is refused.
//
// With a shard the folder may be other workers', too, on this or another machine: each takes the
// runs that nobody has (claimed_queue.h), also those of a worker that has died, and ends when all
// are done, with the results of all. `resume` then means that failed runs are tried again and that
// the file may have changed.
GridSummary run_grid(const Context& context, const Experiment& experiment,
                     const std::filesystem::path& folder, const WorkerOptions& options);

// Makes the runs that the ledger has left, and closes it. Each run is a process of its own, so one
// that fails or is killed for memory leaves the others alone. Ends early where other workers have
// had all runs that are left for longer than `idle_limit`. Throws Interrupted once the context says
// stop; what was done is kept.
GridSummary make_runs(const Context& context, GridLedger& ledger, const WorkerOptions& options,
                      std::optional<std::chrono::milliseconds> idle_limit = {});

}  // namespace bridgemark
