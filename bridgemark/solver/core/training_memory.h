#pragma once

#include <initializer_list>
#include <string_view>

#include "bridgemark/pair/fit_problem.h"

// Estimates of what a training holds, so that one that cannot fit is refused before it starts.
namespace bridgemark {

struct MemoryPart {
  double bytes;
  std::string_view lower;  // the option that makes it smaller
};

// Throws InvalidArgument, naming the option of the largest part, where a training on the problem
// would hold more than is free.
void require_training_memory(std::string_view solver, const FitProblem& problem,
                             std::initializer_list<MemoryPart> parts);

// Throws InvalidArgument where the reference is an operator without tables of its powers, or one
// that never leads from some category to another in all of its steps: the solver, as `who` names
// it, needs tables without zeros.
void require_tables(std::string_view who, const FitProblem& problem);

// The tables of a chain with num_steps steps that is matched: powers of the reference with their
// logarithms, and those of the pinned reference from either end.
double matching_tables_bytes(const FitProblem& problem, int num_steps);

}  // namespace bridgemark
