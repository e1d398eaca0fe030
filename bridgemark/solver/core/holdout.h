#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/solver/core/options.h"

namespace bridgemark {

// How rows kept apart stop a training.
struct StoppingSettings {
  double holdout = 0.0;  // share of the rows kept apart
  int patience = 1;      // looks at them without gain that end a training
  bool refit = false;    // whether a training on all rows follows
};

// Updates from one look at the rows kept apart to the next.
inline constexpr std::int64_t kUpdatesPerLook = 50;

// The options behind StoppingSettings: holdout, patience, of which a solver says the usual number,
// and refit.
std::vector<OptionSpec> stopping_options(const char* patience);
OptionSpec holdout_option();
OptionSpec refit_option();
StoppingSettings read_stopping_settings(const SolverOptions& options);

// Own data in two parts: rows that a solver trains on, and rows that stop and choose it.
struct Holdout {
  FitProblem training;
  States x0;  // kept apart, [rows,D]; no rows where nothing is kept
  States x1;

  bool empty() const { return x0.rows() == 0; }
};

// At least this many rows of an end are kept apart, if that leaves half of them to train on.
inline constexpr std::size_t kLeastHoldoutRows = 50;

// Keeps max(ceil(share * n), kLeastHoldoutRows) of the n rows of each end apart, but at most n / 2
// of them. Which rows depends on n and the end alone, so that every solver and every seed is judged
// by the same rows; within each part they stay in the order of the data. Nothing is kept where
// share is 0, an end has a single row, or the problem is a pair, whose draws are endless. Throws
// InvalidArgument unless share lies in [0, 0.9].
Holdout split_holdout(const FitProblem& problem, double share);

}  // namespace bridgemark
