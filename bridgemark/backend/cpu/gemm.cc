#include "bridgemark/backend/cpu/gemm.h"

#ifdef BRIDGEMARK_HAVE_OPENBLAS
#include <cblas.h>
#else
#include <Eigen/Dense>
#endif

namespace bridgemark::backend::cpu {

#ifdef BRIDGEMARK_HAVE_OPENBLAS

namespace {

// OpenBLAS would otherwise start threads of its own inside each of ours.
void use_one_blas_thread() {
  static const bool done = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

void gemm(std::size_t m, std::size_t n, std::size_t k, const double* a, const double* b,
          double* c) {
  use_one_blas_thread();
  const int rows = static_cast<int>(m), cols = static_cast<int>(n), inner = static_cast<int>(k);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, inner, 1.0, a, inner, b, cols,
              0.0, c, cols);
}

#else

void gemm(std::size_t m, std::size_t n, std::size_t k, const double* a, const double* b,
          double* c) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto rows = static_cast<Eigen::Index>(m), cols = static_cast<Eigen::Index>(n),
             inner = static_cast<Eigen::Index>(k);
  Eigen::Map<RowMajor>(c, rows, cols).noalias() =
      Eigen::Map<const RowMajor>(a, rows, inner) * Eigen::Map<const RowMajor>(b, inner, cols);
}

#endif

}  // namespace bridgemark::backend::cpu
