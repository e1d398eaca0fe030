#pragma once

#include <memory>

#include "bridgemark/solver/core/solver.h"

namespace bridgemark {

// Entropic transport between the rows themselves: the plug-in estimate of the bridge.
std::unique_ptr<Solver> make_sinkhorn();

}  // namespace bridgemark
