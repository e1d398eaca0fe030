#include "cli/help/solver_help.h"

#include <fmt/format.h>

#include "bridgemark/solver/registry.h"

namespace bridgemark::cli {

std::vector<HelpSection> solver_list() {
  HelpSection section{"Solvers; bridgemark train SOLVER --help has the keys of one", {}};
  for (const auto& solver : all_solvers()) {
    section.rows.emplace_back(solver->name(), solver->description());
  }
  return {section};
}

std::vector<HelpSection> solver_sections(const std::string& name) {
  const Solver& solver = find_solver(name);
  HelpSection section{fmt::format("Keys of {}, {}", name, solver.description()), {}};
  for (const OptionSpec& spec : solver.options()) {
    section.rows.emplace_back(fmt::format("{}={}", spec.key, spec.initial_value()),
                              spec.described());
  }
  if (section.rows.empty()) section.rows.emplace_back("none", "it has nothing to set");
  return {section};
}

std::vector<HelpSection> all_solver_sections() {
  std::vector<HelpSection> sections = solver_list();
  for (const auto& solver : all_solvers()) {
    sections.push_back(solver_sections(std::string(solver->name())).front());
  }
  return sections;
}

}  // namespace bridgemark::cli
