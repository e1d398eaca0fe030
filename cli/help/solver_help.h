#pragma once

#include <string>
#include <vector>

#include "bridgemark/solver/core/solver.h"
#include "cli/help/help.h"

namespace bridgemark::cli {

// Every solver with what it is.
std::vector<HelpSection> solver_list();
// What a solver is and its keys. Throws InvalidArgument, with the nearest name, for another one.
std::vector<HelpSection> solver_sections(const std::string& solver);
// The same in lines, for a solver that may be of an installed package.
std::string solver_text(const Solver& solver);
// The list, and the keys of each solver.
std::vector<HelpSection> all_solver_sections();

}  // namespace bridgemark::cli
