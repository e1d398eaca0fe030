#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "bridgemark/solver/core/solver.h"

namespace bridgemark {

// Every solver there is, in the order of the paper's tables.
const std::vector<std::unique_ptr<Solver>>& all_solvers();

// Throws InvalidArgument with the nearest name for an unknown one.
const Solver& find_solver(std::string_view name);

}  // namespace bridgemark
