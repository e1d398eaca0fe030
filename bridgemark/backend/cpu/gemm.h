#pragma once

#include <cstddef>

namespace bridgemark::backend::cpu {

// c[m,n] = a[m,k] * b[k,n], row-major and dense, on the calling thread: the kernels above split
// their work over threads themselves.
void gemm(std::size_t m, std::size_t n, std::size_t k, const double* a, const double* b, double* c);

}  // namespace bridgemark::backend::cpu
