
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/experiment_file.h"
#include "bridgemark/experiment/grid/grid_runner.h"
#include "bridgemark/experiment/grid/slurm_grid.h"
#include "bridgemark/experiment/grid_estimate.h"
#include "bridgemark/experiment/named_experiments.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/experiment/run_commands.h"
#include "bridgemark/experiment/shell_words.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/solver/outside/outside_solver.h"
#include "cli/command.h"
#include "cli/help/help.h"
#include "cli/interrupt.h"
#include "cli/option_use.h"
#include "cli/output.h"
#include "cli/overview.h"

namespace bridgemark::cli {

namespace {

struct RunOptions {
  CommonOptions common;
  std::string experiment;
  std::string output;
  std::vector<std::string> only;
  int jobs = 0;
  bool resume = false;
  bool dry_run = false;
  bool estimate = false;
  std::string shard;
  double stale_seconds = 60.0;
  bool slurm = false;
  int runs_per_task = 1;
  int at_once = 0;
  std::vector<std::string> sbatch;  // options that are not ours
};

int list_runs(const Experiment& experiment, const RunOptions& options) {
  const std::filesystem::path runs = std::filesystem::path(options.output) / "runs";
  for (const ExperimentRun& run : select_runs(experiment.runs, options.only)) {
    const std::filesystem::path folder = runs / run.id;
    if (!is_library_solver(run.config.solver)) {
      say("{}\n  bridgemark {}\n", run.id,
          shell_words(grid_arguments(run, options.experiment, options.output)));
      continue;
    }
    say("{}\n  bridgemark {}\n", run.id, shell_words(train_arguments(run, folder)));
    for (const ExperimentRun& scored : scored_runs(run)) {
      say("  bridgemark {}\n", shell_words(evaluate_arguments(scored, folder)));
    }
  }
  return 0;
}

// Measures a run of each kind, a line each as it comes, and adds them up.
int estimate(const Experiment& experiment, const RunOptions& options) {
  Context context = options.common.context();
  context.progress = {};
  const std::vector<ExperimentRun> runs = select_runs(experiment.runs, options.only);
  double total = 0.0;
  nlohmann::json groups = nlohmann::json::array();
  if (!options.common.json) {
    say("{:>5}  {:>9}  {:>9}  {:>9}  {}\n", "runs", "train", "evaluate", "all", "as");
  }
  for (const RunGroup& group : group_runs(runs)) {
    const RunEstimate each = estimate_run(context, *group.example);
    const double all = static_cast<double>(group.runs) * (each.train + each.evaluate);
    total += all;
    groups.push_back({{"run", group.example->id},
                      {"runs", group.runs},
                      {"train_seconds", each.train},
                      {"evaluate_seconds", each.evaluate}});
    if (options.common.json) continue;
    say("{:5}  {:>9}  {:>9}  {:>9}  {}\n", group.runs, duration(each.train),
        duration(each.evaluate), duration(all), terminal_text(group.example->id));
  }
  if (options.common.json) {
    say("{}\n", nlohmann::json{{"experiment", experiment.name},
                               {"runs", runs.size()},
                               {"groups", groups},
                               {"seconds", total}}
                    .dump(2));
  } else {
    say("{}: about {} for {} on this machine, one after the other with {} on {}; side by side they "
        "take less\n",
        terminal_text(experiment.name), duration(total), counted(runs.size(), "run"),
        counted(static_cast<std::size_t>(context.threads()), "thread"),
        context.device == Device::kCuda ? "its GPU" : "its processors");
  }
  return 0;
}

// What both ways of making a grid have in common.
void set_grid_options(const RunOptions& options, OverviewPrinter& printer, GridOptions& grid) {
  grid.program = this_program();
  grid.only = options.only;
  grid.jobs = options.jobs;
  grid.resume = options.resume;
  grid.stale_after = milliseconds(options.stale_seconds);
  grid.overview = [&](const Overview& overview) { printer.show(overview); };
  grid.note = [&](const std::string& text) {
    printer.clear();
    note("{}\n", terminal_text(text));
  };
}

GridSummary run_here(const Experiment& experiment, const RunOptions& options,
                     OverviewPrinter& printer) {
  const Context context = options.common.context();
  WorkerOptions worker;
  set_grid_options(options, printer, worker);
  if (!options.shard.empty()) worker.shard = parse_shard("--shard", options.shard);
  return run_grid(context, experiment, options.output, worker);
}

GridSummary run_by_slurm(const Experiment& experiment, const RunOptions& options,
                         OverviewPrinter& printer) {
  // The device is the nodes', not this machine's.
  const Context context{
      parse_device(options.common.device), options.common.threads, {}, stop_requested};
  SlurmOptions slurm;
  set_grid_options(options, printer, slurm);
  slurm.sbatch = options.sbatch;
  slurm.runs_per_task = options.runs_per_task;
  slurm.at_once = options.at_once;
  return run_on_slurm(context, experiment, options.output, slurm);
}

void print_summary(const Experiment& experiment, const RunOptions& options,
                   const GridSummary& summary) {
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
    return;
  }
  say("{}: {} of {} runs done", terminal_text(experiment.name), done, summary.total);
  if (summary.skipped > 0) say(", {} of them before", summary.skipped);
  say(", in {:.0f} s; {}\n", summary.seconds, terminal_text(results));
  for (const FailedRun& run : summary.failed) {
    say("failed: {}: {}\n", run.id, terminal_text(run.reason));
  }
  if (done > 0) say_next(options.common, {"report", options.output});
}

int run_experiment(const RunOptions& options) {
  const Experiment experiment = load_experiment(options.experiment);
  if (options.dry_run) return list_runs(experiment, options);
  stop_on_signals();
  if (options.estimate) return estimate(experiment, options);
  OverviewPrinter printer(options.common.progress_style());
  GridSummary summary;
  try {
    summary = options.slurm ? run_by_slurm(experiment, options, printer)
                            : run_here(experiment, options, printer);
  } catch (...) {
    printer.clear();
    throw;
  }
  printer.clear();
  print_summary(experiment, options, summary);
  return summary.failed.empty() ? 0 : 1;
}

// --shard and --slurm, and what belongs to them.
void add_sharing_options(CLI::App& command, RunOptions& options) {
  command
      .add_option("--shard", options.shard,
                  "I/N: be worker I of N on the folder, on this or another machine; each takes "
                  "the runs that nobody has, also those of a worker that has died")
      ->type_name("I/N");
  CLI::Option* slurm = command.add_flag(
      "--slurm", options.slurm,
      "Submit the runs as job arrays, wait for them and submit again what was lost; options that "
      "are not of bridgemark run go to sbatch");
  command.add_option("--runs-per-task", options.runs_per_task, "Runs of a task of Slurm")
      ->check(CLI::Range(1, kMostRunsPerTask))
      ->needs(slurm)
      ->capture_default_str();
  command
      .add_option("--at-once", options.at_once,
                  "Tasks of an array that Slurm runs at a time; 0: as many as it can")
      ->check(CLI::Range(0, kMostRunsPerTask))
      ->needs(slurm)
      ->capture_default_str();
  command
      .add_option("--stale-after", options.stale_seconds,
                  "With --shard or --slurm, seconds after which a worker that gives no sign of "
                  "life has died; the same for all")
      ->check(number_in(0.5, 1e6))
      ->capture_default_str();
}

// What --dry-run and --estimate, which make no runs, have no use for.
void declare_use(CLI::App& command, const std::shared_ptr<RunOptions>& options) {
  const auto if_dry = [=]() -> std::optional<std::string> {
    if (options->dry_run) return "--dry-run";
    return std::nullopt;
  };
  for (const char* name : {"--jobs", "--resume", "--shard"}) {
    only_for(command.get_option(name), "runs that are made", [=]() -> std::optional<std::string> {
      if (options->estimate) return "--estimate";
      return if_dry();
    });
  }
  for (const char* name : {"--device", "--threads", "--progress", "--json", "--estimate"}) {
    only_for(command.get_option(name), "runs that are made or estimated", if_dry);
  }
  only_for(command.get_option("--progress"), "runs that are made",
           [=]() -> std::optional<std::string> {
             if (options->estimate) return "--estimate";
             return std::nullopt;
           });
}

// Refuses what goes with neither --shard nor --slurm, and takes sbatch's options.
void sort_out(const CLI::App& command, RunOptions& options) {
  options.sbatch = command.remaining();
  if (options.slurm) {
    if (!options.shard.empty()) throw CLI::ExcludesError("--slurm", "--shard");
    if (options.dry_run) throw CLI::ExcludesError("--slurm", "--dry-run");
    if (options.estimate) throw CLI::ExcludesError("--slurm", "--estimate");
    check_sbatch_options(options.sbatch);
    return;
  }
  if (!options.sbatch.empty()) throw CLI::ExtrasError(command.get_name(), options.sbatch);
  if (options.shard.empty() && command.count("--stale-after") > 0) {
    throw CLI::RequiresError("--stale-after", "--shard or --slurm");
  }
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a grid of pairs, solvers, options and seeds");
  command->footer(
      "Examples:\n"
      "  bridgemark run quick -o quick\n"
      "  bridgemark run paper -o paper --estimate --device cuda\n"
      "  bridgemark run paper -o paper --only 'd16-*.dlightsb.*' --resume\n"
      "  bridgemark run paper -o shared/paper --shard 2/4\n"
      "  bridgemark run paper -o paper --slurm --partition=gpu --time=2:00:00 "
      "--device cuda\n"
      "Each of four machines that share the folder is given its own --shard, 1/4 to 4/4.\n"
      "Exits 1 where a run failed; the others are done all the same. docs/formats.md describes the "
      "file.");
  set_help_sections(*command, [](HelpExtent) {
    HelpSection section{"Experiments that come with the program", {}};
    for (const NamedExperiment& each : named_experiments()) {
      const std::string name(each.name);
      section.rows.emplace_back(name, ExperimentFile(name, std::string(each.text)).description());
    }
    return std::vector{section};
  });
  command
      ->add_option("EXPERIMENT", options->experiment,
                   "Experiment file, .toml, or the name of one below")
      ->required();
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
  add_sharing_options(*command, *options);
  command->add_flag("--dry-run", options->dry_run,
                    "Check the file and print the commands of its runs");
  command->add_flag("--estimate", options->estimate,
                    "Train a little of a run of each kind, score it, and print how long the grid "
                    "would take on this machine; nothing is kept");
  add_common_options(*command, options->common);
  add_json_option(*command, options->common);
  declare_use(*command, options);
  command->allow_extras();  // with --slurm they are sbatch's
  command->callback([=, &action] {
    sort_out(*command, *options);
    action = [=] { return run_experiment(*options); };
  });
}

}  // namespace bridgemark::cli
