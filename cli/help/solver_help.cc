#include "cli/help/solver_help.h"

#include <fmt/format.h>

#include "bridgemark/core/terminal_text.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark::cli {

std::vector<HelpSection> solver_list() {
  HelpSection section{"Solvers; bridgemark train SOLVER --help has the keys of one", {}};
  for (const auto& solver : all_solvers()) {
    section.rows.emplace_back(solver->name(), solver->description());
  }
  return {section};
}

namespace {

HelpSection section_of(const Solver& solver) {
  HelpSection section{
      terminal_text(fmt::format("Keys of {}, {}", solver.name(), solver.description())), {}};
  for (const OptionSpec& spec : solver.options()) {
    section.rows.emplace_back(terminal_text(fmt::format("{}={}", spec.key, spec.initial_value())),
                              terminal_text(spec.described()));
  }
  if (section.rows.empty()) section.rows.emplace_back("none", "it has nothing to set");
  return section;
}

}  // namespace

std::vector<HelpSection> solver_sections(const std::string& name) {
  return {section_of(find_solver(name))};
}

std::string solver_text(const Solver& solver) { return section_text(section_of(solver)); }

std::vector<HelpSection> all_solver_sections() {
  std::vector<HelpSection> sections = solver_list();
  for (const auto& solver : all_solvers()) {
    sections.push_back(section_of(*solver));
  }
  return sections;
}

}  // namespace bridgemark::cli
