#pragma once

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/estimate.h"

// How much of x1 a coupling leaves open once x0 is known.
namespace bridgemark {

// H(x1 | x0) in nats: the mean of -log q(x1|x0) over rows x1 that the coupling drew for x0. The
// coupling has a joint.
MeanEstimate conditional_entropy(const Context& context, const Coupling& coupling, StatesView x0,
                                 StatesView x1);

// The share of the entropy of single coordinates of x1 that x0 takes away,
// 1 - sum_d H(x1^d | x0) / sum_d H(x1^d), under the coupling from these rows of x0: 1 where x0
// decides every coordinate, 0 where it says nothing of any. The coupling has marginals. The error
// is that of the mean H(x1^d | x0); NaN where no coordinate of x1 has any entropy.
MeanEstimate told_share(const Context& context, const Coupling& coupling, StatesView x0);

}  // namespace bridgemark
