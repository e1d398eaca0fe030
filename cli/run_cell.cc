#include <filesystem>
#include <memory>
#include <string>

#include "bridgemark/experiment/grid/grid_runner.h"
#include "bridgemark/experiment/grid/slurm_grid.h"
#include "bridgemark/experiment/make_run.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/pair/pair_spec.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"

// What run and sbatch start; not in the help: run is what people use.
namespace bridgemark::cli {

namespace {

struct CellOptions {
  CommonOptions common;
  std::string cell;
  std::string folder;
  int sharers = 1;
};

int run_one_cell(const CellOptions& options) {
  Context context = options.common.context();
  context.device_sharers = options.sharers;
  stop_on_signals();
  const ExperimentRun run = parse_run(options.cell);
  const BenchmarkPair pair = load_pair(run.config.pair);
  warn_if_still(pair.bridge().process());
  try {
    make_run(context, run, pair, options.folder);
  } catch (const FolderBusy& error) {
    note("bridgemark: {}\n", terminal_text(error.what()));
    return kRunBusy;
  }
  return 0;
}

struct PartOptions {
  CommonOptions common;
  std::string folder;
  std::string list;
  int task = 0;
  int runs_per_task = 1;
  int jobs = 0;
  double stale_seconds = 0.0;
};

int run_one_part(const PartOptions& options) {
  const Context context = options.common.context();
  stop_on_signals();
  WorkerOptions worker;
  worker.program = this_program();
  worker.jobs = options.jobs;
  worker.stale_after = milliseconds(options.stale_seconds);
  const GridSummary summary =
      run_task(context, options.folder, options.list, options.task, options.runs_per_task, worker);
  for (const FailedRun& run : summary.failed) {
    say("failed: {}: {}\n", run.id, terminal_text(run.reason));
  }
  return summary.failed.empty() ? 0 : 1;
}

}  // namespace

void add_run_cell(CLI::App& app, Action& action) {
  auto options = std::make_shared<CellOptions>();
  options->common.progress = true;  // into the run's log, whose last line the grid shows
  CLI::App* command = app.add_subcommand(kMakeRunCommand, "One run of a grid, as run starts it");
  command->group("");
  command->add_option("CELL", options->cell, "The cell as JSON")->required();
  command->add_option("FOLDER", options->folder, "Its run folder")->required();
  command->add_option(kSharersOption, options->sharers, "Cells that share the device")
      ->check(CLI::Range(1, 4096));
  add_common_options(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_one_cell(*options); }; });
}

void add_run_part(CLI::App& app, Action& action) {
  auto options = std::make_shared<PartOptions>();
  CLI::App* command = app.add_subcommand(kTaskCommand, "A task's part of a grid, by sbatch");
  command->group("");
  command->add_option("FOLDER", options->folder, "The grid's folder")->required();
  command->add_option("LIST", options->list, "File of cells, one a line")->required();
  command->add_option("--task", options->task, "Number of the task")
      ->check(CLI::Range(0, 1 << 22))
      ->required();
  command->add_option("--runs-per-task", options->runs_per_task, "Cells of a task")
      ->check(CLI::Range(1, kMostRunsPerTask))
      ->required();
  command->add_option("--jobs", options->jobs, "Runs side by side")->check(CLI::Range(0, 4096));
  command->add_option("--stale-after", options->stale_seconds, "Seconds, see run")->required();
  add_common_options(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_one_part(*options); }; });
}

}  // namespace bridgemark::cli
