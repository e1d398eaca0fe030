#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/experiment.h"

// How long a grid will take, before it starts.
namespace bridgemark {

// Runs that cost the same: of one solver with one set of options on pairs of one dimension.
struct RunGroup {
  const ExperimentRun* example;  // the first of them
  std::size_t runs = 0;
};

// In the order of their first runs, which must outlive them.
std::vector<RunGroup> group_runs(const std::vector<ExperimentRun>& runs);

// Seconds that one run takes alone.
struct RunEstimate {
  double train = 0.0;
  double evaluate = 0.0;
};

// Python's command that estimates a run of one of its solvers: its text follows, then the context's
// threads and device. For --estimate's own use.
inline constexpr char kEstimateRunCommand[] = "estimate-run";

// Trains the run with a few of its updates, then with more until they take a second, and goes on in
// a straight line from the last two; scores what the last gave, one repetition.
RunEstimate estimate_run(const Context& context, const ExperimentRun& run);

}  // namespace bridgemark
