#pragma once

#include <cstdint>

namespace bridgemark {

// The queue of a device that a caller's library works in: what a context with it does on arrays
// that lie there follows in its order. A handle is what the device's library knows it by: a
// cudaStream_t.
class DeviceQueue {
 public:
  explicit DeviceQueue(std::uintptr_t handle) : handle_(handle) {}
  std::uintptr_t handle() const { return handle_; }

 private:
  std::uintptr_t handle_;
};

}  // namespace bridgemark
