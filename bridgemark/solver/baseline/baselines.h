#pragma once

#include <memory>

#include "bridgemark/solver/core/solver.h"

// The four solvers that need no training.
namespace bridgemark {

// The truth itself: the ceiling of every table.
std::unique_ptr<Solver> make_oracle();

// x1 ~ p1 whatever x0 is.
std::unique_ptr<Solver> make_independent();

// x1 ~ q_ref(. | x0): the bridge of a constant potential.
std::unique_ptr<Solver> make_reference();

// A Schrödinger bridge for each coordinate on its own, between estimated marginals.
std::unique_ptr<Solver> make_feature_wise();

}  // namespace bridgemark
