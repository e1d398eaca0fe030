#pragma once

#include <memory>

#include "bridgemark/solver/core/solver.h"

// The two solvers whose model is a chain of network transitions, fitted by iterative Markovian
// fitting in discrete time (D-IMF).
namespace bridgemark {

// An iteration trains the forward network, then the backward one, each on pairs drawn through the
// other, which stays as it is meanwhile.
std::unique_ptr<Solver> make_csbm();

// An update trains both directions, each on the coupling of the other.
std::unique_ptr<Solver> make_alpha_csbm();

}  // namespace bridgemark
