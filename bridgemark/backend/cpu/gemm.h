#pragma once

#include <cstddef>

namespace bridgemark::backend::cpu {

enum class Transpose { kNo, kYes };

// c[m,n] = alpha op(a) op(b) + beta c, row-major with row strides, op(a) [m,k] and op(b) [k,n], on
// the calling thread: the kernels above split their work over threads themselves.
template <typename T>
void gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k,
          T alpha, const T* a, std::size_t stride_a, const T* b, std::size_t stride_b, T beta, T* c,
          std::size_t stride_c);

// c[m,n] = a[m,k] b[k,n], dense.
template <typename T>
void gemm(std::size_t m, std::size_t n, std::size_t k, const T* a, const T* b, T* c) {
  gemm(Transpose::kNo, Transpose::kNo, m, n, k, T(1), a, k, b, n, T(0), c, n);
}

}  // namespace bridgemark::backend::cpu
