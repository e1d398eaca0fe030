#pragma once

#include <string>

#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/solver/core/run.h"

namespace bridgemark::python {

// bridgemark.Coupling: what a solver made of a pair, and how.
struct FittedCoupling {
  RunConfig config;
  BenchmarkPair pair;
  Fitted fitted;
  double seconds = 0.0;

  // Steps of the chain that the coupling was fitted as, else those of the protocol.
  int own_num_steps() const;
};

}  // namespace bridgemark::python
