#pragma once

#include <cuda_runtime_api.h>

namespace bridgemark::backend::cuda {

// Throws DeviceError that quotes the call.
[[noreturn]] void throw_cuda_error(cudaError_t status, const char* call);

}  // namespace bridgemark::backend::cuda

#define BM_CUDA_CHECK(call)                                          \
  do {                                                               \
    const cudaError_t status_ = (call);                              \
    if (status_ != cudaSuccess) {                                    \
      ::bridgemark::backend::cuda::throw_cuda_error(status_, #call); \
    }                                                                \
  } while (false)
