#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "bridgemark/backend/device_memory.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// States with memory of their own, on the host or on the context's device.
class PlacedStates {
 public:
  PlacedStates(const Context& context, bool on_device, std::size_t rows, std::size_t cols) {
    if (on_device) {
      placed_.emplace(context, rows, cols);
    } else {
      host_ = States(rows, cols);
    }
  }
  PlacedStates(const Context& context, bool on_device, States host) : host_(std::move(host)) {
    if (on_device) placed_.emplace(context, std::as_const(host_));
  }

  MutableStatesView view() { return placed_ ? placed_->view() : host_.view(); }
  StatesView view() const { return placed_ ? placed_->view() : host_.view(); }

  // Takes over the values of host states of the same shape.
  void set(const Context& context, StatesView from) {
    if (placed_) {
      backend::copy_memory(context, from.data, view().data, from.size() * sizeof(*from.data));
    } else {
      std::copy_n(from.data, from.size(), host_.data());
    }
  }
  States to_host(const Context& context) const {
    return placed_ ? placed_->to_host(context) : host_;
  }

 private:
  States host_;
  std::optional<backend::DeviceStates> placed_;
};

}  // namespace bridgemark
