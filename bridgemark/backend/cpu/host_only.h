#pragma once

#include <string_view>

#include "bridgemark/core/context.h"
#include "bridgemark/core/error.h"

namespace bridgemark::backend::cpu {

// For operations that a device has inside its trainers only: throws DeviceError unless the context
// asks for the CPU, so that none runs there in silence.
inline void require_host(const Context& context, std::string_view operation) {
  if (context.device == Device::kCpu) return;
  throw DeviceError(fmt::format("[backend] device of {} must be cpu, got {}; use a trainer there",
                                operation, device_name(context.device)));
}

}  // namespace bridgemark::backend::cpu
