#pragma once

#include <cstddef>
#include <string>

namespace bridgemark::backend::cpu {

enum class Transpose { kNo, kYes };

// While one exists, BLAS starts no threads of its own inside each of ours. The setting belongs to
// the whole process: the first one notes what it was and the last one puts it back, whichever
// threads they are on.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
};

// What computes the products, in words.
std::string gemm_library();

// c[m,n] = alpha op(a) op(b) + beta c, row-major with row strides, op(a) [m,k] and op(b) [k,n], on
// the calling thread where a OneBlasThread exists: the kernels above split their work over threads
// themselves.
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
