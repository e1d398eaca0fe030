#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/grid_claims.h"

namespace bridgemark {

// How far an experiment is.
struct Overview {
  struct Active {
    std::string id;
    std::string stage;      // "train" or "evaluate"
    double seconds;         // since it started
    std::string last_line;  // of what it prints
  };
  std::size_t total = 0;
  std::size_t done = 0;     // those that were complete before included
  std::size_t skipped = 0;  // complete before
  std::size_t failed = 0;
  std::vector<Active> active;
  std::size_t more_active = 0;         // beyond those
  std::string queue;                   // of a cluster, how its queue stands
  std::optional<double> seconds_left;  // once a run of this call is done
};

struct FailedRun {
  std::string id;
  std::string reason;  // the last line it printed
};

// The program's command that runs one cell: its text and its run folder follow, then the context's
// threads and device, and kSharersOption. For a grid's own use.
inline constexpr char kCellCommand[] = "run-cell";
inline constexpr char kSharersOption[] = "--sharers";
// Its exit status where another process still works in the run's folder.
inline constexpr int kCellBusy = 75;

// Runs that a GPU has at once where none are asked for and processes can share it.
inline constexpr int kRunsOnOneGpu = 8;

struct GridOptions {
  std::filesystem::path program;  // the bridgemark program, which runs the cells
  std::vector<std::string> only;  // see select_runs
  int jobs = 0;                   // runs side by side; 0: see run_grid
  bool resume = false;
  std::optional<Shard> shard = {};               // one of several workers in the folder
  std::chrono::milliseconds stale_after{60000};  // a worker not heard of for so long is dead
  // The runs are part of a grid that another process has opened and whose results it writes; left
  // to other workers where those have them for longer than this.
  std::optional<std::chrono::milliseconds> part_patience = {};
  std::vector<std::string> program_arguments = {};     // that come before those of a cell
  std::function<void(const Overview&)> overview = {};  // called a few times a second; may be empty
  std::function<void(const std::string&)> note = {};   // how runs share a GPU; may be empty
};

struct GridSummary {
  std::size_t total = 0;
  std::size_t skipped = 0;
  std::vector<FailedRun> failed;
  double seconds = 0.0;
};

// Runs the grid in `folder`:
//   experiment.toml       the file as it was given
//   runs/ID/              a run folder each (solver/core/run.h), and scores.json beside its result
//   logs/ID.txt           what the run printed
//   results.csv, .jsonl   every score of every complete run, see results.h
// Each run is a process of its own, so a run that fails or is killed for memory leaves the others
// alone. They start in the order of the file, as many at a time as the jobs and the free memory
// allow: by default one for each thread, on a GPU kRunsOnOneGpu where it can be shared
// (device_sharing.h), else one. Complete runs are skipped and interrupted ones go on, both with
// `resume` only: without it a folder that holds an experiment is refused. Throws Interrupted once
// the context says stop; what was done is kept.
//
// With a shard the folder may be other workers', too, on this or another machine: each takes the
// runs that nobody has (grid_claims.h), also those of a worker that has died, and ends when all
// are done, with the results of all. `resume` then means that failed runs are tried again and that
// the file may have changed.
GridSummary run_grid(const Context& context, const Experiment& experiment,
                     const std::filesystem::path& folder, const GridOptions& options);

}  // namespace bridgemark
