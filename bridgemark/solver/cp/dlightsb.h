#pragma once

#include <memory>

#include "bridgemark/solver/core/solver.h"

// The two solvers whose model is a CP bridge trained by gradient descent.
namespace bridgemark {

// Minimises mean log c(x0) - mean log v(x1), which is KL(q* || q) up to a constant.
std::unique_ptr<Solver> make_dlightsb();

// Matches the model's transitions to the pinned reference of an independent (x0, x1), at a step
// drawn for each row: the optimal projection onto the set of all bridges.
std::unique_ptr<Solver> make_dlightsb_m();

}  // namespace bridgemark
