#pragma once

#include <cstddef>

#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// The potential with fewer components, near to the one given: those that are alike become one. A
// large potential finds every part of p1 from almost any start, where a small one is caught by its
// own; merged, it is a start for a small one.
//
// How much two components differ is the information about them that is lost with them: the
// Jensen-Shannon divergence of what they emit, weighed by the rows of x1 that they explain. The
// components of a CP potential are merged as wholes, the states of a chain at each coordinate on
// its own. log_reach [D,S] is the logarithm of the mean of the reference's rows at x0: how likely
// the reference comes to a category. Throws InvalidArgument unless count lies in 1..components.
backend::CpTensors<float> merge_components(const Context& context,
                                           const backend::CpTensors<float>& parameters,
                                           const Matrix<double>& log_reach, StatesView x1,
                                           std::size_t count);

}  // namespace bridgemark
