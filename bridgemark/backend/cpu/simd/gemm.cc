#include "bridgemark/backend/cpu/simd/gemm.h"

#ifdef BRIDGEMARK_HAVE_OPENBLAS
#include <cblas.h>

#include <mutex>
#else
#include <Eigen/Dense>
#endif

namespace bridgemark::backend::cpu {

#ifdef BRIDGEMARK_HAVE_OPENBLAS

namespace {

std::mutex blas_mutex;
int users = 0;           // OneBlasThreads that exist
int threads_before = 0;  // of BLAS, when the first of them came

CBLAS_TRANSPOSE blas_transpose(Transpose transpose) {
  return transpose == Transpose::kYes ? CblasTrans : CblasNoTrans;
}

}  // namespace

std::string gemm_library() { return openblas_get_config(); }

OneBlasThread::OneBlasThread() {
  const std::lock_guard lock(blas_mutex);
  if (users++ > 0) return;
  threads_before = openblas_get_num_threads();
  if (threads_before != 1) openblas_set_num_threads(1);
}

OneBlasThread::~OneBlasThread() {
  const std::lock_guard lock(blas_mutex);
  if (--users > 0) return;
  // Somebody else's change in the meantime stays.
  if (threads_before != 1 && openblas_get_num_threads() == 1) {
    openblas_set_num_threads(threads_before);
  }
}

template <>
void gemm<double>(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n,
                  std::size_t k, double alpha, const double* a, std::size_t stride_a,
                  const double* b, std::size_t stride_b, double beta, double* c,
                  std::size_t stride_c) {
  cblas_dgemm(CblasRowMajor, blas_transpose(transpose_a), blas_transpose(transpose_b),
              static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha, a,
              static_cast<int>(stride_a), b, static_cast<int>(stride_b), beta, c,
              static_cast<int>(stride_c));
}

template <>
void gemm<float>(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n,
                 std::size_t k, float alpha, const float* a, std::size_t stride_a, const float* b,
                 std::size_t stride_b, float beta, float* c, std::size_t stride_c) {
  cblas_sgemm(CblasRowMajor, blas_transpose(transpose_a), blas_transpose(transpose_b),
              static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha, a,
              static_cast<int>(stride_a), b, static_cast<int>(stride_b), beta, c,
              static_cast<int>(stride_c));
}

#else

std::string gemm_library() {
  return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
         std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
}

OneBlasThread::OneBlasThread() = default;
OneBlasThread::~OneBlasThread() = default;

template <typename T>
void gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k,
          T alpha, const T* a, std::size_t stride_a, const T* b, std::size_t stride_b, T beta, T* c,
          std::size_t stride_c) {
  using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Strided = Eigen::Map<const RowMajor, 0, Eigen::OuterStride<> >;
  const auto index = [](std::size_t value) { return static_cast<Eigen::Index>(value); };
  const bool flip_a = transpose_a == Transpose::kYes, flip_b = transpose_b == Transpose::kYes;
  const Strided left(a, index(flip_a ? k : m), index(flip_a ? m : k),
                     Eigen::OuterStride<>(index(stride_a)));
  const Strided right(b, index(flip_b ? n : k), index(flip_b ? k : n),
                      Eigen::OuterStride<>(index(stride_b)));
  Eigen::Map<RowMajor, 0, Eigen::OuterStride<> > out(c, index(m), index(n),
                                                     Eigen::OuterStride<>(index(stride_c)));
  if (beta == T(0)) {
    out.setZero();
  } else if (beta != T(1)) {
    out *= beta;
  }
  if (!flip_a && !flip_b) out.noalias() += alpha * left * right;
  if (flip_a && !flip_b) out.noalias() += alpha * left.transpose() * right;
  if (!flip_a && flip_b) out.noalias() += alpha * left * right.transpose();
  if (flip_a && flip_b) out.noalias() += alpha * left.transpose() * right.transpose();
}

template void gemm<float>(Transpose, Transpose, std::size_t, std::size_t, std::size_t, float,
                          const float*, std::size_t, const float*, std::size_t, float, float*,
                          std::size_t);
template void gemm<double>(Transpose, Transpose, std::size_t, std::size_t, std::size_t, double,
                           const double*, std::size_t, const double*, std::size_t, double, double*,
                           std::size_t);

#endif

}  // namespace bridgemark::backend::cpu
