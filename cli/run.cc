
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/experiment/cell.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/grid_runner.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/experiment/shell_words.h"
#include "bridgemark/io/folder_lock.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/pair/pair_spec.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/overview.h"

namespace bridgemark::cli {

namespace {

struct Options {
  CommonOptions common;
  std::string experiment;
  std::string output;
  std::vector<std::string> only;
  int jobs = 0;
  bool resume = false;
  bool dry_run = false;
  std::string shard;
  double stale_seconds = 60.0;
};

int list_runs(const Experiment& experiment, const Options& options) {
  const std::filesystem::path runs = std::filesystem::path(options.output) / "runs";
  for (const ExperimentRun& run : select_runs(experiment.runs, options.only)) {
    const std::filesystem::path folder = runs / run.id;
    say("{}\n  bridgemark {}\n", run.id, shell_words(train_arguments(run, folder)));
    for (const ExperimentRun& scored : scored_runs(run)) {
      say("  bridgemark {}\n", shell_words(evaluate_arguments(scored, folder)));
    }
  }
  return 0;
}

int run(const Options& options) {
  const Context context = options.common.context();
  const Experiment experiment = load_experiment(options.experiment);
  if (options.dry_run) return list_runs(experiment, options);
  stop_on_signals();
  OverviewPrinter printer;
  GridOptions grid;
  grid.program = std::filesystem::read_symlink("/proc/self/exe");
  grid.only = options.only;
  grid.jobs = options.jobs;
  grid.resume = options.resume;
  if (!options.shard.empty()) grid.shard = parse_shard("--shard", options.shard);
  grid.stale_after =
      std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * options.stale_seconds));
  grid.overview = [&](const Overview& overview) { printer.show(overview); };
  grid.note = [](const std::string& text) { note("{}\n", terminal_text(text)); };
  GridSummary summary;
  try {
    summary = run_grid(context, experiment, options.output, grid);
  } catch (...) {
    printer.clear();
    throw;
  }
  printer.clear();
  const std::size_t done = summary.total - summary.failed.size();
  const std::string results = (std::filesystem::path(options.output) / kResultsCsv).string();
  if (options.common.json) {
    nlohmann::json failed = nlohmann::json::array();
    for (const FailedRun& run : summary.failed) {
      failed.push_back({{"run", run.id}, {"reason", run.reason}});
    }
    say("{}\n", nlohmann::json{{"experiment", experiment.name},
                               {"runs", summary.total},
                               {"done", done},
                               {"skipped", summary.skipped},
                               {"failed", failed},
                               {"wall_seconds", summary.seconds},
                               {"results", results}}
                    .dump(2));
  } else {
    say("{}: {} of {} runs done", terminal_text(experiment.name), done, summary.total);
    if (summary.skipped > 0) say(", {} of them before", summary.skipped);
    say(", in {:.0f} s; {}\n", summary.seconds, terminal_text(results));
    for (const FailedRun& run : summary.failed)
      say("failed: {}: {}\n", run.id, terminal_text(run.reason));
  }
  return summary.failed.empty() ? 0 : 1;
}

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
  const ExperimentRun run = parse_cell(options.cell);
  const BenchmarkPair pair = load_pair(run.config.pair);
  warn_if_still(pair.bridge().process());
  try {
    run_cell(context, run, pair, options.folder);
  } catch (const FolderBusy& error) {
    note("bridgemark: {}\n", terminal_text(error.what()));
    return kCellBusy;
  }
  return 0;
}

}  // namespace

void add_run_cell(CLI::App& app, Action& action) {
  auto options = std::make_shared<CellOptions>();
  CLI::App* command = app.add_subcommand(kCellCommand, "One cell of a grid, as run starts it");
  command->group("");  // not in the help: run is what people use
  command->add_option("CELL", options->cell, "The cell as JSON")->required();
  command->add_option("FOLDER", options->folder, "Its run folder")->required();
  command->add_option(kSharersOption, options->sharers, "Cells that share the device")
      ->check(CLI::Range(1, 4096));
  add_common_options(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_one_cell(*options); }; });
}

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Run a grid of pairs, solvers, options and seeds");
  command->footer(
      "Examples:\n"
      "  bridgemark run experiments/quick.toml -o quick\n"
      "  bridgemark run experiments/paper.toml -o paper --only 'd16-*.dlightsb.*' --resume\n"
      "  bridgemark run experiments/paper.toml -o shared/paper --shard 2/4   # likewise 1/4, 3/4, "
      "4/4\n"
      "Exits 1 where a run failed; the others are done all the same. docs/formats.md describes the "
      "file.");
  command->add_option("EXPERIMENT", options->experiment, "Experiment file, .toml")->required();
  command->add_option("-o,--output", options->output, "Folder of the runs and results")->required();
  command
      ->add_option("--only", options->only,
                   "Runs to make: a part of their id, or a pattern with * and ? for all of it")
      ->type_size(1)
      ->allow_extra_args(false);
  command
      ->add_option("--jobs", options->jobs,
                   "Runs side by side; 0 takes one for each thread, on a GPU up to 8 where they "
                   "can share it")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_flag("--resume", options->resume,
                    "Go on with the experiment in the folder: finished runs are skipped");
  CLI::Option* shard =
      command
          ->add_option(
              "--shard", options->shard,
              "I/N: be worker I of N on the folder, on this or another machine; each takes "
              "the runs that nobody has, also those of a worker that has died")
          ->type_name("I/N");
  command
      ->add_option(
          "--stale-after", options->stale_seconds,
          "Seconds after which a worker that gives no sign of life has died; the same for all")
      ->check(CLI::Range(0.5, 1e6))
      ->needs(shard)
      ->capture_default_str();
  command->add_flag("--dry-run", options->dry_run,
                    "Check the file and print the commands of its runs");
  add_common_options(*command, options->common);
  add_json_option(*command, options->common);
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace bridgemark::cli
