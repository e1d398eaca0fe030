#pragma once

#include <vector>

#include "bridgemark/solver/core/solver.h"
#include "cli/help/help.h"

namespace bridgemark::cli {

// Every solver of the library with what it is.
HelpSection solver_list();
// What a solver is and its keys.
HelpSection solver_section(const Solver& solver);
// The list, and the keys of each of them.
std::vector<HelpSection> all_solver_sections();

}  // namespace bridgemark::cli
