#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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

// Numbers likewise; only zeros() says what they are at first.
class PlacedDoubles {
 public:
  PlacedDoubles(const Context& context, bool on_device, std::size_t count) : count_(count) {
    if (on_device) {
      placed_ = backend::allocate_memory(context, bytes());
    } else {
      host_.resize(count);
    }
  }
  static PlacedDoubles zeros(const Context& context, bool on_device, std::size_t count) {
    PlacedDoubles values(context, on_device, count);
    const std::vector<double> none(on_device ? count : 0, 0.0);
    if (on_device) backend::copy_memory(context, none.data(), values.data(), values.bytes());
    return values;
  }

  double* data() { return placed_ ? static_cast<double*>(placed_.get()) : host_.data(); }
  std::span<double> span() { return {data(), count_}; }
  // Where the host can read them: `buffer` holds what lies on the device.
  const double* fetch(const Context& context, std::vector<double>& buffer) {
    if (!placed_) return host_.data();
    buffer.resize(count_);
    backend::copy_memory(context, placed_.get(), buffer.data(), bytes());
    return buffer.data();
  }
  std::vector<double> to_host(const Context& context) && {
    if (!placed_) return std::move(host_);
    std::vector<double> fetched(count_);
    backend::copy_memory(context, placed_.get(), fetched.data(), bytes());
    return fetched;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(double); }

  std::size_t count_;
  std::vector<double> host_;
  std::shared_ptr<void> placed_;
};

}  // namespace bridgemark
