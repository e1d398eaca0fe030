#pragma once

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// The product of the exact bridges of each coordinate between the marginals of two samples.
CpBridge feature_wise_bridge(const Context& context, const ReferenceProcess& process,
                             const States& x0, const States& x1);

}  // namespace bridgemark
