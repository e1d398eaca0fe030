#pragma once

#include <memory>

#include "bridgemark/solver/core/solver.h"

namespace bridgemark {

// DLightSB with a chain potential: a component that may change from one coordinate to the next.
// Minimises mean log c(x0) - mean log v(x1), which is KL(q* || q) up to a constant.
std::unique_ptr<Solver> make_dlightsb_chain();
std::unique_ptr<Solver> make_dlightsb_tree();

}  // namespace bridgemark
