#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/estimate.h"

namespace bridgemark {

// KL(p || q) between processes as the paper sums it: over trajectories of p started at the rows of
// x0, the sum over num_steps steps and D dimensions of KL(p(x_{n+1}^d | x_n) || q(x_{n+1}^d |
// x_n)). Each KL is exact; only the trajectories are drawn. +inf where q rules out what p allows.
// Both couplings need transitions with num_steps steps. Where x0 lies on the context's device, so
// does all else; both must take that. One sum for each row of x0:
std::vector<double> trajectory_kls(const Context& context, const Coupling& p, const Coupling& q,
                                   int num_steps, StatesView x0, std::uint64_t seed);

// Their mean, which is the KL.
MeanEstimate trajectory_kl(const Context& context, const Coupling& p, const Coupling& q,
                           int num_steps, StatesView x0, std::uint64_t seed);

}  // namespace bridgemark
