#pragma once

#include <memory>
#include <string>

#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/solver/run/run.h"

namespace bridgemark::python {

// bridgemark.Coupling: what a solver made of a pair or of data, and how.
struct FittedCoupling {
  RunConfig config;
  FitProblem problem;
  Fitted fitted;
  double seconds = 0.0;
  std::shared_ptr<const FittedCoupling> forward = nullptr;  // what this one reads backwards

  // Steps of the chain that the coupling was fitted as, else those of the protocol.
  int own_num_steps() const;
};

}  // namespace bridgemark::python
