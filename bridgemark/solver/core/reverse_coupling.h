#pragma once

#include <memory>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/fit_problem.h"

namespace bridgemark {

// What was fitted to a problem, read from x1 to x0. A solver of both directions answers itself. A
// bridge over the reference is turned round by Bayes' rule with the problem's own x0 as p0: for
// data x0 is one of its rows. Throws InvalidArgument where neither is possible, with the reason.
std::shared_ptr<const Coupling> reverse_coupling(const Context& context, const FitProblem& problem,
                                                 const std::shared_ptr<const Coupling>& coupling);

}  // namespace bridgemark
