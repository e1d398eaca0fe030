#pragma once

#include <cstddef>

#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// What each component of a potential emits at each coordinate, and how many rows are its own.
struct ComponentShares {
  std::size_t D, S, K;
  Array3<double> cores;     // [D,K,S], scaled so that each emits probabilities
  Array3<double> emission;  // [D,K,S], core times reach: sums to 1 over categories
  Matrix<double> share;     // [D,K], the share of x1's rows that it explains there, over 0
  Array3<double> pairs;     // [D-1,K,K], shares of a chain's moves; empty for CP and a tree
};

// How likely the reference comes to a category from the rows of x0: log of the mean of its rows at
// these, [D,S].
Matrix<double> log_reach(const Context& context, const ReferenceProcess& process, const States& x0);

// Of the first most_rows rows of x1. log_reach is the one above.
ComponentShares measure_components(const Context& context,
                                   const backend::CpTensors<float>& parameters,
                                   const Matrix<double>& log_reach, StatesView x1,
                                   std::size_t most_rows);

}  // namespace bridgemark
