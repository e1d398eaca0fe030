#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>

#include "bridgemark/backend/cuda/runtime/buffer.h"

namespace bridgemark::backend::cuda {

// Rows of values, `pitch` apart.
struct DeviceValues {
  const float* data;
  std::size_t width;
  std::size_t rows = 1;
  std::size_t pitch = 0;
};

// Looks for values that are not finite. A training asks every few milliseconds, so the answer's
// place is kept, and that on the host is one that the device writes to.
class FiniteCheck {
 public:
  FiniteCheck();
  ~FiniteCheck();
  FiniteCheck(const FiniteCheck&) = delete;
  FiniteCheck& operator=(const FiniteCheck&) = delete;

  // Whether none of them is infinite or NaN; waits for the stream.
  bool all_finite(std::span<const DeviceValues> values, cudaStream_t stream) const;

 private:
  int* found_ = nullptr;  // pinned memory of the host
};

}  // namespace bridgemark::backend::cuda
