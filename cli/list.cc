#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/io/printable.h"
#include "bridgemark/pair/family_numbers.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/outside/outside_solver.h"
#include "bridgemark/solver/registry.h"
#include "cli/command.h"
#include "cli/help/solver_help.h"
#include "cli/option_use.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

struct ListOptions {
  CommonOptions common;
  std::string solver;  // to describe in place of the pairs; kAllSolvers: the names of all
};

constexpr char kAllSolvers[] = "all";

nlohmann::json solver_json(const Solver& solver) {
  nlohmann::json options = nlohmann::json::array();
  for (const OptionSpec& spec : solver.options()) {
    options.push_back(
        {{"key", spec.key}, {"default", spec.initial_value()}, {"help", spec.described()}});
  }
  return {{"name", solver.name()}, {"description", solver.description()}, {"options", options}};
}

// What solvers of packages are takes an import of each, so they are named alone.
int list_all_solvers(bool as_json) {
  std::vector<std::string> outside = outside_solver_names();
  std::erase_if(outside, is_library_solver);
  if (as_json) {
    nlohmann::json solvers = nlohmann::json::array();
    for (const auto& solver : all_solvers()) {
      solvers.push_back({{"name", solver->name()}, {"description", solver->description()}});
    }
    for (const std::string& name : outside) solvers.push_back({{"name", name}});
    say("{}\n", nlohmann::json{{"solvers", solvers}}.dump(2));
    return 0;
  }
  say("{}", section_text(solver_list()));
  if (outside.empty()) return 0;
  HelpSection section{"Solvers of packages; bridgemark list --solver NAME has the keys of one", {}};
  for (const std::string& name : outside) section.rows.emplace_back(terminal_text(name), "");
  say("\n{}", section_text(section));
  return 0;
}

int list_solver(const ListOptions& options) {
  if (options.solver == kAllSolvers) return list_all_solvers(options.common.json);
  const Solver& solver = find_solver(options.solver);
  if (options.common.json) {
    say("{}\n", nlohmann::json{{"solvers", {solver_json(solver)}}}.dump(2));
  } else {
    say("{}", section_text(solver_section(solver)));
  }
  return 0;
}

int run_list(const ListOptions& given) {
  if (!given.solver.empty()) return list_solver(given);
  const CommonOptions& options = given.common;
  if (options.json) {
    nlohmann::json pairs = nlohmann::json::array();
    for (const PairSpec& spec : preset_specs()) {
      pairs.push_back({{"name", spec.name},
                       {"version", spec.version},
                       {"seed", spec.seed},
                       {"family", pair_family_name(spec.family)},
                       {"dim", spec.dim},
                       {"num_categories", spec.num_categories},
                       {"num_components", spec.num_components},
                       {"reference", reference_kind_name(spec.reference)},
                       {"gamma", spec.gamma},
                       {"total_steps", spec.total_steps}});
      if (spec.family != PairFamily::kDistilled) pairs.back()["sigma"] = spec.sigma;
      for (const FamilyNumber& number : family_numbers()) {
        if (number.belongs_to(spec.family)) pairs.back()[number.name] = spec.*number.value;
      }
    }
    say("{}\n", nlohmann::json{{"pairs", pairs}}.dump(2));
    return 0;
  }
  static constexpr char kLine[] = "{:<26} {:<9} {:>2} {:>2} {:>2} {:<9} {:>6} {:>5} {:>3} {:>5}\n";
  say(kLine, "pair", "family", "D", "S", "K", "reference", "gamma", "sigma", "ver", "seed");
  for (const PairSpec& spec : preset_specs()) {
    say(kLine, spec.name, pair_family_name(spec.family), spec.dim, spec.num_categories,
        spec.num_components, reference_kind_name(spec.reference), spec.gamma,
        spec.family != PairFamily::kDistilled ? fmt::format("{}", spec.sigma) : "-", spec.version,
        spec.seed);
  }
  say("\nsphere: as the paper's text describes them; spread: as its tables suggest;\n"
      "chain: components that change along the coordinates, which no CP potential fits;\n"
      "twosided: a potential at either end, closed forms in both directions;\n"
      "distilled: fitted to data, and the fit declared the truth.\n");
  say("NAME-reverse asks for the same pair from p1 to p0.\n");
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  auto given = std::make_shared<ListOptions>();
  const std::shared_ptr<CommonOptions> options(given, &given->common);
  CLI::App* command = app.add_subcommand("list", "List the benchmark pairs that come built in");
  command->footer(
      "Examples:\n"
      "  bridgemark list --json\n"
      "  bridgemark list --solver all\n"
      "  bridgemark list --solver python:my_module:MySolver");
  command->add_option("--solver", given->solver,
                      "In place of the pairs a solver with its options: one of the library, "
                      "python:MODULE:CLASS, or one that an installed package names; all: the names "
                      "of all");
  add_common_options(*command, *options);
  only_for(command->get_option("--device"), "commands that compute",
           [=]() -> std::optional<std::string> {
             if (options->device == "cpu") return std::nullopt;
             return "list --device " + options->device;
           });
  add_json_option(*command, *options);
  command->callback([=, &action] { action = [=] { return run_list(*given); }; });
}

}  // namespace bridgemark::cli
