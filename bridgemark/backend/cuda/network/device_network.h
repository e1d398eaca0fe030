#pragma once

#include <algorithm>

#include "bridgemark/backend/cuda/network/network_view.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"

namespace bridgemark::backend::cuda {

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
