#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/backend/cuda/buffer.h"
#include "bridgemark/backend/cuda/network_view.h"

namespace bridgemark::backend::cuda {

// Device memory of one owner, freed together.
class Memory {
 public:
  template <typename T>
  T* allocate(std::size_t count) {
    return keep(std::make_shared<Buffer<T>>(count));
  }
  template <typename T>
  T* upload(const T* host, std::size_t count) {
    return keep(std::make_shared<Buffer<T>>(host, count));
  }
  template <typename T>
  T* upload(const std::vector<T>& values) {
    return upload(values.data(), values.size());
  }

 private:
  template <typename T>
  T* keep(std::shared_ptr<Buffer<T>> buffer) {
    T* data = buffer->get();
    buffers_.push_back(std::move(buffer));
    return data;
  }

  std::vector<std::shared_ptr<void>> buffers_;
};

inline StepTables upload_steps(Memory& memory, const PinnedSteps& steps) {
  return {memory.upload(steps.chain.linear), memory.upload(steps.chain.log),
          memory.upload(steps.log_powers), memory.upload(steps.probabilities)};
}

// The widest values between two layers, the inputs and logits included.
inline std::size_t widest_values(const NetworkShape& shape) {
  std::size_t widest = shape.input_width();
  for (std::size_t l = 0; l < shape.num_layers(); ++l) {
    widest = std::max(widest, shape.layer_outputs(l));
  }
  return widest;
}

}  // namespace bridgemark::backend::cuda
