#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

// Arrays that lie in the memory of the context's device, which must be another than the CPU. What
// is done with them follows in the order of the context's stream.
namespace bridgemark::backend {

// Freed with its last owner, once all work on the device is done.
std::shared_ptr<void> allocate_memory(const Context& context, std::size_t bytes);

// Between any two memories; returns when it is done.
void copy_memory(const Context& context, const void* from, void* to, std::size_t bytes);

// Returns when all that is in the context's stream is done.
inline void wait(const Context& context) { copy_memory(context, nullptr, nullptr, 0); }

// Integers of a caller on the device, one behind the other.
struct DeviceIntegers {
  const void* data;
  int bytes;  // of one: 1, 2, 4 or 8
  bool is_signed;
};

// out = the integers as states. Waits for them. Throws InvalidArgument that names the first one
// outside 0..num_categories-1.
void take_states(const Context& context, std::string_view name, const DeviceIntegers& given,
                 int num_categories, MutableStatesView out);

// States with device memory of their own.
class DeviceStates {
 public:
  DeviceStates(const Context& context, std::size_t rows, std::size_t cols)
      : memory_(allocate_memory(context, rows * cols * sizeof(std::int32_t))),
        view_{static_cast<std::int32_t*>(memory_.get()), rows, cols, true} {}
  DeviceStates(const Context& context, StatesView host)
      : DeviceStates(context, host.rows, host.cols) {
    copy_memory(context, host.data, view_.data, host.size() * sizeof(std::int32_t));
  }

  MutableStatesView view() { return view_; }
  StatesView view() const { return view_; }
  States to_host(const Context& context) const {
    States host(view_.rows, view_.cols);
    copy_memory(context, view_.data, host.data(), view_.size() * sizeof(std::int32_t));
    return host;
  }

 private:
  std::shared_ptr<void> memory_;
  MutableStatesView view_;
};

}  // namespace bridgemark::backend
