#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace bridgemark::backend::cuda {

// Copies between any two memories once all that is in the stream is done, and waits for it.
void copy_and_wait(const void* from, void* to, std::size_t bytes, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
