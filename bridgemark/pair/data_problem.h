#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bridgemark/core/context.h"
#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/process/given_reference.h"

namespace bridgemark {

// Own data as a front end is given it.
struct DataParts {
  States x0;
  States x1;
  GivenReference reference = std::string("gaussian");
  std::optional<double> gamma = {};        // of any but a matrix; proposed for gaussian and uniform
  std::optional<int> num_categories = {};  // else what the reference or the largest category says
  int total_steps = kDefaultTotalSteps;
};

struct DataProblem {
  FitProblem problem;
  std::string note;  // a line about what was chosen for the caller; empty where nothing was
};

// Throws InvalidArgument that names the part: an unknown reference, a gamma beside a matrix, sizes
// that do not agree, categories out of range.
DataProblem make_data_problem(const Context& context, DataParts parts);

// A solver that was fitted to data can be scored on a pair whose reference, S and D are the data's.
// Throws InvalidArgument that says which of them is not; `what` is what the message calls the
// solver.
void require_data_of_pair(const FitProblem& data, const BenchmarkPair& pair, std::string_view what);

}  // namespace bridgemark
