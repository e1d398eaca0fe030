#pragma once

#include <cstdint>
#include <string>

#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/solver/core/solver.h"
#include "bridgemark/solver/run/run.h"

namespace bridgemark {

struct DistillRequest {
  std::string name = "distilled";
  std::uint64_t seed = 0;          // of the test set and of all that is drawn from the pair
  std::string data_name = {};      // what own data are called in the pair's origin
  bool accept_overfitted = false;  // also of a training that rows held out speak against
};

// Declares what a solver was fitted to be the truth: p0 is its law of x0, or a mixture fitted to
// the same rows where that is a hidden chain, the potential is its potential, and p1 is what the
// bridge makes of them. So a pair that looks like data has a bridge that is known exactly. Throws
// InvalidArgument for a coupling that is no bridge from x0 with a law of x0, and for a training on
// rows that no rows held out have judged, or that they found overfitted, unless that is accepted.
BenchmarkPair distill(const LoadedRun& run, const Diagnostics& diagnostics,
                      const DistillRequest& request);

}  // namespace bridgemark
