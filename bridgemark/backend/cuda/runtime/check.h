#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace bridgemark::backend::cuda {

// Throws DeviceError that quotes the call.
[[noreturn]] void throw_cuda_error(cudaError_t status, const char* call);

// Throws DeviceError that states the need, what there is, and what to lower.
[[noreturn]] void throw_out_of_memory(std::size_t bytes);

}  // namespace bridgemark::backend::cuda

#define BM_CUDA_CHECK(call)                                          \
  do {                                                               \
    const cudaError_t status_ = (call);                              \
    if (status_ != cudaSuccess) {                                    \
      ::bridgemark::backend::cuda::throw_cuda_error(status_, #call); \
    }                                                                \
  } while (false)
