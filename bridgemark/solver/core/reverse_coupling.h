#pragma once

#include <memory>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/pair/reverse_truth.h"

namespace bridgemark {

// A bridge is turned round where at most so many proposals are needed for a draw, on average.
inline constexpr double kMostProposalsADraw = 1e4;

// A bridge with a law of x0, turned round by Bayes' rule. Throws InvalidArgument where draws need
// more than kMostProposalsADraw, with the number, which is that of targets among the problem's x1.
ReverseTruth turn_round(const Context& context, const FitProblem& problem,
                        const std::shared_ptr<const Bridge>& bridge);

// What was fitted to a problem, read from x1 to x0 by what was learned alone: networks answer
// themselves, and a bridge with a law of x0 is turned round by Bayes' rule. Null where neither is
// there. Throws what turn_round() throws.
std::shared_ptr<const Coupling> learned_reverse(const Context& context, const FitProblem& problem,
                                                const std::shared_ptr<const Coupling>& coupling);

// The same, and a bridge without a law of x0 is turned round with the problem's own x0 as p0: for
// data x0 is one of its rows. Throws InvalidArgument where that is not possible, with the reason.
std::shared_ptr<const Coupling> reverse_coupling(const Context& context, const FitProblem& problem,
                                                 const std::shared_ptr<const Coupling>& coupling);

}  // namespace bridgemark
