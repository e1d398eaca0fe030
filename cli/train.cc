#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "bridgemark/io/printable.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/core/run.h"
#include "bridgemark/solver/core/run_result.h"
#include "bridgemark/solver/registry.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

struct Options {
  CommonOptions common;
  std::string solver;
  std::string pair;
  std::string output;
  std::vector<std::string> assignments;
  bool resume = false;
};

int run(const Options& options) {
  const Context context = options.common.context();
  stop_on_signals();
  SolverOptions solver_options(find_solver(options.solver).options());
  for (const std::string& assignment : options.assignments) {
    solver_options.set_assignment(assignment);
  }
  const BenchmarkPair pair = load_pair(options.pair);
  warn_if_still(pair.bridge().process());
  train_run(context, {options.solver, options.pair, options.common.seed, solver_options.values()},
            pair, options.output, options.resume);
  const nlohmann::json result = load_run_result(options.output);
  if (options.common.json) {
    say("{}\n", result.dump(2));
    return 0;
  }
  say("{}: {} on {} in {:.2f} s\n", terminal_text(options.output), options.solver,
      terminal_text(options.pair), result["wall_seconds"].get<double>());
  for (const auto& [key, value] : result["diagnostics"].items()) {
    say("  {:<28} {}\n", terminal_text(key),
        terminal_text(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  }
  return 0;
}

// Every solver with its keys, for the help text.
std::string solver_help() {
  std::string help = "Solvers and their keys:\n";
  for (const auto& solver : all_solvers()) {
    help += fmt::format("  {:<14} {}\n", solver->name(), solver->description());
    for (const OptionSpec& spec : solver->options()) {
      help += fmt::format("    {}={}  {}\n", spec.key, spec.default_value, spec.help);
    }
  }
  return help;
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("train", "Fit a solver to a pair and keep it as a run");
  command->footer(solver_help() +
                  "\nExample: bridgemark train feature-wise --pair d16-gaussian-0.02 -o run "
                  "--set samples=200000");
  command->add_option("SOLVER", options->solver, "A solver, see below")->required();
  command->add_option("--pair", options->pair, "A preset or a pair folder")->required();
  command->add_option("-o,--output", options->output, "Run folder to write")->required();
  command->add_option("--set", options->assignments, "An option of the solver, key=value")
      ->type_size(1)
      ->allow_extra_args(false);
  command->add_flag("--resume", options->resume, "Go on with the run in the folder");
  add_common_options(*command, options->common, "Seed of the training data");
  add_json_option(*command, options->common);
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace bridgemark::cli
