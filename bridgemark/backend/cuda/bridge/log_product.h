#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace bridgemark::backend::cuda {

// out[p,m,n] = log sum_t exp(a[m,t] + b[p,t,n]), all in device memory: a [M,T], b [batches,T,N].
void launch_log_product(const double* a, const double* b, std::size_t batches, std::size_t M,
                        std::size_t N, std::size_t T, double* out, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
