#pragma once

#include <string>

#include "bridgemark/solver/core/solver.h"

namespace bridgemark::cli {

// A solver in a line, then each of its keys in a line, for help texts.
std::string solver_text(const Solver& solver);

}  // namespace bridgemark::cli
