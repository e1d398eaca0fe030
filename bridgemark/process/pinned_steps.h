#pragma once

#include "bridgemark/backend/network_training.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// The steps of a chain towards a known clean end, as the network kernels want them. Towards x1 they
// come from the reference itself, towards x0 from the reference seen backwards in time.
backend::PinnedSteps make_pinned_steps(const Context& context, const ReferenceChain& chain);

}  // namespace bridgemark
