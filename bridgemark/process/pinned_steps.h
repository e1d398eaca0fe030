#pragma once

#include <memory>

#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// The steps of a chain towards a known clean end, as the network kernels want them.
backend::PinnedSteps make_pinned_steps(const Context& context, const ReferenceChain& chain);
backend::PinnedSteps make_pinned_steps(const Context& context, backend::ChainTables<float> tables);

// Towards x1 the steps are those of the reference, towards x0 those of the reference seen backwards
// in time: the same object where it is symmetric.
struct TwoWaySteps {
  std::shared_ptr<const backend::PinnedSteps> towards_x1;
  std::shared_ptr<const backend::PinnedSteps> towards_x0;
};

TwoWaySteps make_two_way_steps(const Context& context, const ReferenceProcess& process,
                               int num_steps);

}  // namespace bridgemark
