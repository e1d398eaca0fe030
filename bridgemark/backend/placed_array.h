#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark::backend {

// A row-major matrix with memory of its own, on the host or on the context's device. On the host it
// is zero at first, on a device nothing is said of its values.
template <typename T>
class PlacedArray {
 public:
  PlacedArray(const Context& context, bool on_device, std::size_t rows, std::size_t cols = 1) {
    if (on_device) {
      allocate(context, rows, cols);
    } else {
      host_ = Matrix<T>(rows, cols);
    }
  }
  PlacedArray(const Context& context, bool on_device, Matrix<T> host) {
    if (on_device) {
      allocate(context, host.rows(), host.cols());
      set(context, host);
    } else {
      host_ = std::move(host);
    }
  }

  MatrixView<T> view() { return memory_ ? on_device_ : host_.view(); }
  MatrixView<const T> view() const {
    return memory_ ? MatrixView<const T>(on_device_) : host_.view();
  }
  std::span<T> values() { return {view().data, view().size()}; }

  // Takes over the values of a matrix of the host of the same shape.
  void set(const Context& context, MatrixView<const T> from) {
    if (memory_) {
      of(context).copy_memory(context, from.data, on_device_.data, from.size() * sizeof(T));
    } else {
      std::copy_n(from.data, from.size(), host_.data());
    }
  }

  Matrix<T> to_host(const Context& context) const& { return memory_ ? fetched(context) : host_; }
  Matrix<T> to_host(const Context& context) && {
    return memory_ ? fetched(context) : std::move(host_);
  }

 private:
  void allocate(const Context& context, std::size_t rows, std::size_t cols) {
    memory_ = of(context).allocate_memory(rows * cols * sizeof(T));
    on_device_ = {static_cast<T*>(memory_.get()), rows, cols, true};
  }
  Matrix<T> fetched(const Context& context) const {
    Matrix<T> host(on_device_.rows, on_device_.cols);
    of(context).copy_memory(context, on_device_.data, host.data(), host.size() * sizeof(T));
    return host;
  }

  Matrix<T> host_;
  std::shared_ptr<void> memory_;  // of the device; empty on the host
  MatrixView<T> on_device_;
};

using PlacedStates = PlacedArray<std::int32_t>;

}  // namespace bridgemark::backend
