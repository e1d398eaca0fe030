#pragma once

#include <cstddef>

#include "bridgemark/bridge/cp_bridge.h"

namespace bridgemark {

// The reference as a bridge: that of a constant potential.
CpBridge reference_bridge(ReferenceProcess process, std::size_t dim);

}  // namespace bridgemark
