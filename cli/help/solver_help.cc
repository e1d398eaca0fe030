#include "cli/help/solver_help.h"

#include <fmt/format.h>

#include "bridgemark/core/terminal_text.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark::cli {

HelpSection solver_list() {
  HelpSection section{"Solvers; bridgemark train SOLVER --help has the keys of one", {}};
  for (const auto& solver : all_solvers()) {
    section.rows.emplace_back(solver->name(), solver->description());
  }
  return section;
}

HelpSection solver_section(const Solver& solver) {
  HelpSection section{
      terminal_text(fmt::format("Keys of {}, {}", solver.name(), solver.description())), {}};
  for (const OptionSpec& spec : solver.options()) {
    section.rows.emplace_back(terminal_text(fmt::format("{}={}", spec.key, spec.initial_value())),
                              terminal_text(spec.described()));
  }
  if (section.rows.empty()) section.rows.emplace_back("none", "it has nothing to set");
  return section;
}

std::vector<HelpSection> all_solver_sections() {
  std::vector<HelpSection> sections = {solver_list()};
  for (const auto& solver : all_solvers()) sections.push_back(solver_section(*solver));
  return sections;
}

}  // namespace bridgemark::cli
