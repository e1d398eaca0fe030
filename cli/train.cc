#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/csv.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/pair/data_problem.h"
#include "bridgemark/pair/label_problems.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/outside/outside_solver.h"
#include "bridgemark/solver/run/labelled_run.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/run/run_result.h"
#include "cli/command.h"
#include "cli/help/solver_help.h"
#include "cli/interrupt.h"
#include "cli/option_use.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/table.h"
#include "cli/train_result.h"

namespace bridgemark::cli {

namespace {

struct TrainOptions {
  CommonOptions common;
  std::string solver;
  std::string pair;
  TrainingRows rows;                   // of the pair
  std::string x0, x1;                  // files of own data, in place of a pair
  std::vector<std::string> condition;  // of labels of both; empty: none
  std::string columns;                 // of tables in place of arrays: a file or auto
  std::string reference = "gaussian";
  std::optional<double> gamma;
  std::optional<int> categories;
  std::optional<int> steps;
  std::string output;
  std::vector<std::string> assignments;
  bool resume = false;
  std::string tensorboard;  // a folder of event files
};

// The pair or the data to fit to.
FitProblem problem_of(const TrainOptions& options, const Context& context) {
  if (options.pair.empty() == (options.x0.empty() && options.x1.empty())) {
    throw_invalid("train", "give one of --pair and --x0 with --x1, got {}",
                  options.pair.empty() ? "none" : "both");
  }
  if (!options.pair.empty()) return load_pair(options.pair);
  if (options.x0.empty() || options.x1.empty()) {
    throw_invalid("train", "--x0 and --x1 must be given together, got {}",
                  options.x0.empty() ? "--x1" : "--x0");
  }
  DataProblem made =
      make_data_problem(context, {.x0 = load_states(options.x0),
                                  .x1 = load_states(options.x1),
                                  .reference = read_reference(options.reference),
                                  .gamma = options.gamma,
                                  .num_categories = options.categories,
                                  .total_steps = options.steps.value_or(kDefaultTotalSteps)});
  if (!made.note.empty() && speaks_for_ranks()) {
    fmt::print(stderr, "note: {}; --gamma sets another\n", made.note);
  }
  return made.problem;
}

void warn_of(const nlohmann::json& result, const std::string& label = {}) {
  const auto warning = result["diagnostics"].find("warning");
  if (warning == result["diagnostics"].end()) return;
  note("warning: {}{}\n", label, terminal_text(warning->get<std::string>()));
}

void say_result(const TrainOptions& options, const FitProblem& problem,
                const std::filesystem::path& folder, const nlohmann::json& result) {
  const std::string on = options.pair.empty() ? std::string(problem.name()) : options.pair;
  say("{}: {} on {} in {:.2f} s\n", terminal_text(folder.string()), options.solver,
      terminal_text(options.rows.samples > 0
                        ? fmt::format("{} of {}", training_rows_text(options.rows), on)
                        : on),
      result["wall_seconds"].get<double>());
  say_diagnostics(result);
}

// Its scores, or where there is no truth its draws.
void say_next_of(const TrainOptions& options) {
  if (!options.pair.empty()) {
    say_next(options.common, {"evaluate", options.pair, "--run", options.output});
    return;
  }
  std::vector<std::string> sample = {"sample", "--run", options.output, "--given", options.x0};
  if (!options.condition.empty()) {
    sample.insert(sample.end(), {"--condition", options.condition[0]});
  }
  sample.insert(sample.end(), {"-o", "x1.npy"});
  say_next(options.common, sample);
}

// One run for the rows of each label.
int train_labels(const TrainOptions& options, const Context& context, const RunConfig& config,
                 const FitProblem& problem, const TrainingWatch& watch) {
  const std::vector<LabelProblem> problems = problems_by_label(
      problem, load_integers(options.condition[0]), load_integers(options.condition[1]));
  train_by_label(context, config, problems, options.output, options.resume,
                 [&](Label) { return watch; });
  if (!speaks_for_ranks()) return 0;
  nlohmann::json results = nlohmann::json::array();
  for (const LabelProblem& each : problems) {
    const std::filesystem::path folder = label_folder(options.output, each.label);
    results.push_back(load_run_result(folder));
    warn_of(results.back(), fmt::format("label {}: ", each.label));
    if (!options.common.json) say_result(options, each.problem, folder, results.back());
    results.back()["label"] = each.label;
  }
  if (options.common.json) say("{}\n", nlohmann::json({{"labels", results}}).dump(2));
  say_next_of(options);
  return 0;
}

int run_train(const TrainOptions& options) {
  if (!options.columns.empty()) {
    if (!options.pair.empty()) {
      throw_invalid("train", "give one of --pair and --x0 with --x1, got both");
    }
    if (options.x1.empty()) {
      throw_invalid("train", "--x0 and --x1 must be given together, got --x0");
    }
    return train_tables({options.common, options.solver, options.columns, options.x0, options.x1,
                         options.steps, options.assignments, options.output, options.resume});
  }
  for (const std::string& file : {options.x0, options.x1}) {
    if (!is_csv(file)) continue;
    throw_invalid("train", "tables (.csv) need --columns, a file or auto, got {}", file);
  }
  Context context = options.common.context();
  stop_on_signals();
  join_ranks(context);
  const Solver& solver = find_library_solver(options.solver);
  SolverOptions solver_options(solver.options());
  for (const std::string& assignment : options.assignments) {
    solver_options.set_assignment(assignment);
  }
  SolverOptions checked = solver_options;
  solver.resolve(checked);  // complains before anything is read
  const bool is_endless = !options.pair.empty() && options.rows.samples == 0;
  checked.refuse_unused_with(is_endless ? RowKind::kEndless : RowKind::kThatEnd,
                             options.pair.empty() ? "data" : options.pair);
  const FitProblem problem = problem_of(options, context);
  if (speaks_for_ranks()) warn_if_still(problem.reference());
  const RunConfig config{options.solver, options.pair, options.common.seed, solver_options.values(),
                         options.rows};
  const TrainingWatch watch{.event_folder = options.tensorboard};
  if (!options.condition.empty()) return train_labels(options, context, config, problem, watch);
  train_run(context, config, problem, options.output, options.resume, watch);
  if (!speaks_for_ranks()) return 0;
  const nlohmann::json result = load_run_result(options.output);
  warn_of(result);
  if (options.common.json) {
    say("{}\n", result.dump(2));
    return 0;
  }
  say_result(options, problem, options.output, result);
  say_next_of(options);
  return 0;
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command =
      app.add_subcommand("train", "Fit a solver to a pair or to data and keep it as a run");
  set_help_sections(*command, [=](HelpExtent extent) {
    using Sections = std::vector<HelpSection>;
    if (!options->solver.empty()) {
      return Sections{solver_section(find_library_solver(options->solver))};
    }
    return extent == HelpExtent::kHelp ? Sections{solver_list()} : all_solver_sections();
  });
  command->footer(
      "Examples:\n"
      "  bridgemark train dlightsb --help\n"
      "  bridgemark train feature-wise --pair d16-gaussian-0.02 -o run "
      "--set marginal_samples=200000\n"
      "  bridgemark train dlightsb --pair d16-gaussian-0.02-spread --samples 1000 -o run\n"
      "  bridgemark train dlightsb --x0 threes.npy --x1 eights.npy -o run\n"
      "  bridgemark train dlightsb --x0 before.csv --x1 after.csv --columns auto -o run\n"
      "  bridgemark train dlightsb --x0 a.npy --x1 b.npy --condition a-labels.npy b-labels.npy "
      "-o run\n"
      "  mpirun -n 4 bridgemark-mpi train dlightsb --pair d64-gaussian-0.02 -o run "
      "--set components=100000\n"
      "With --samples a solver sees that many unpaired rows of either end, the same for everyone, "
      "and nothing else of the pair but its reference.\n"
      "Data has no truth: sample --run draws from such a run, evaluate --x0 --x1 compares runs on "
      "rows that they were not trained on, and evaluate PAIR scores one on a pair of the same "
      "reference, S and D.\n"
      "Ranks that mpirun or srun starts share the model of dlightsb (bridgemark-mpi).");
  command->add_option("SOLVER", options->solver, "A solver, one of those below")->required();
  command->add_option("--pair", options->pair, "A preset or a pair folder");
  add_training_rows_options(*command, options->rows,
                            "Rows of either end to train on, of a training set of the pair "
                            "(default: 0, endless draws)");
  const std::string data = "Own data in place of a pair";
  command->add_option("--x0", options->x0, "States to start from, integers .npy [n,D]")
      ->group(data);
  command->add_option("--x1", options->x1, "States to lead to, integers .npy [m,D]; unpaired")
      ->group(data);
  std::vector<CLI::Option*> of_data;
  of_data.push_back(command->add_option("--reference", options->reference, kReferenceHelp));
  of_data.back()->capture_default_str();
  of_data.push_back(command->add_option(
      "--gamma", options->gamma,
      "Stochasticity of the reference (default: of gaussian and uniform one that fits the "
      "categories, which is printed; others have none)"));
  of_data.push_back(command->add_option(
      "--categories", options->categories,
      "S (default: the reference's, else one more than the largest category of the data)"));
  of_data.push_back(
      command->add_option("--steps", options->steps, "Elementary steps from x0 to x1"));
  of_data.back()->capture_default_str();
  of_data.push_back(command->add_option(
      "--condition", options->condition,
      "Labels of the rows of --x0 and of --x1, two files of integers .npy [n] and [m]: a model for "
      "each label, so that x1 keeps the label of its x0"));
  of_data.back()->expected(2);
  for (CLI::Option* option : of_data) {
    option->group(data)->needs("--x0");
    if (option->check_name("--steps")) continue;
    only_for(option, "arrays (.npy)", [=]() -> std::optional<std::string> {
      if (options->columns.empty()) return std::nullopt;
      return "--columns " + options->columns;
    });
  }
  command
      ->add_option("--columns", options->columns,
                   "Columns of the tables (.csv) that --x0 and --x1 are then: a .toml file that "
                   "names them, or auto for all. Each has categories and a reference of its own; "
                   "solver dlightsb")
      ->group(data)
      ->needs("--x0");
  only_for(command->get_option("--samples"), "--pair", [=]() -> std::optional<std::string> {
    if (options->rows.samples == 0 || options->x0.empty()) return std::nullopt;
    return "--x0 " + options->x0;
  });
  command->add_option("-o,--output", options->output, "Run folder to write")->required();
  command->add_option("--set", options->assignments, "Options of the solver, key=value each")
      ->type_size(1)
      ->allow_extra_args(false);
  command->add_flag("--resume", options->resume, "Go on with the run in the folder");
  CLI::Option* tensorboard = command->add_option(
      "--tensorboard", options->tensorboard,
      "Folder that gets an event file of TensorBoard with the numbers of the log");
  only_for(tensorboard, "arrays (.npy) and pairs", [=]() -> std::optional<std::string> {
    if (options->columns.empty()) return std::nullopt;
    return "--columns " + options->columns;
  });
  add_seed_option(*command, options->common,
                  "Seed of the training: of its start and its batches; a training set has rows of "
                  "its own");
  add_common_options(*command, options->common);
  add_json_option(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_train(*options); }; });
}

}  // namespace bridgemark::cli
