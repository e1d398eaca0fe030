#pragma once

#include <cstddef>
#include <string>

#include "bridgemark/core/context.h"
#include "bridgemark/metric/own_data/data_contestant.h"
#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/solver/run/run.h"

namespace bridgemark {

// A run as one that is compared on data: with the rows that its solver was trained on, or for
// endless draws of a pair as many fresh ones as `fresh_rows`, and with its answer to the other
// direction where it learned one. `problem` is what a LoadedRun has: the pair also where a training
// set of it was fitted.
DataContestant run_contestant(const Context& context, std::string name, const RunConfig& config,
                              const FitProblem& problem, std::shared_ptr<const Coupling> coupling,
                              std::size_t fresh_rows);

}  // namespace bridgemark
