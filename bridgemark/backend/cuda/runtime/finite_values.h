#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>

namespace bridgemark::backend::cuda {

struct DeviceValues {
  const float* data;
  std::size_t count;
};

// Whether none of them is infinite or NaN; waits for the stream.
bool all_finite(std::span<const DeviceValues> values, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
