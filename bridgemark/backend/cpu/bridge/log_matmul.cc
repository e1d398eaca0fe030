#include <algorithm>
#include <vector>

#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/simd/gemm.h"
#include "bridgemark/backend/cpu/simd/vector_math.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"

// Products in the log domain. Both factors are scaled to a maximum of 1 by row and by column and
// multiplied through BLAS; a result that lies above kLinearFloor has lost nothing to underflow
// (lost terms are below exp(-700) each), any other is summed again in the log domain.
namespace bridgemark::backend::cpu {

namespace {

// The left factor of several products: rows scaled once.
struct LeftFactor {
  std::size_t rows = 0;
  std::size_t cols = 0;
  MatrixView<const double> log;
  std::vector<double> high;    // [rows], the maximum of each
  std::vector<double> scaled;  // [rows, cols], exp(log - high)
};

LeftFactor scale_left(MatrixView<const double> log) {
  LeftFactor a{log.rows, log.cols, log, std::vector<double>(log.rows),
               std::vector<double>(log.size())};
  for (std::size_t i = 0; i < log.rows; ++i) {
    a.high[i] = *std::max_element(log.row(i), log.row(i) + log.cols);
    exp_minus(log.row(i), a.high[i], log.cols, a.scaled.data() + i * log.cols);
  }
  return a;
}

// gemm by groups of rows, so that an interrupt is heard between them where the product is large.
void interruptible_gemm(const Context& context, const LeftFactor& a, std::size_t width,
                        const double* b, double* product) {
  constexpr std::size_t kOperations = std::size_t{1} << 31;
  const std::size_t row_operations = std::max<std::size_t>(a.cols * width, 1);
  const std::size_t rows = std::max<std::size_t>(kOperations / row_operations, 1);
  for (std::size_t first = 0; first < a.rows; first += rows) {
    context.throw_if_interrupted();
    gemm(std::min(rows, a.rows - first), width, a.cols, a.scaled.data() + first * a.cols, b,
         product + first * width);
  }
}

// One panel of columns: b is [cols of a, width] with columns `high` as their maxima already taken
// off in `scaled`. column(c, out) copies the logarithms of column c for the exact path.
template <typename Column>
void multiply_panel(const Context& context, const LeftFactor& a, const double* scaled,
                    const double* high, std::size_t width, Column&& column, double* product,
                    double* out) {
  interruptible_gemm(context, a, width, scaled, product);
  constexpr std::size_t kExactRows = 256;  // between two looks for an interrupt
  std::vector<double> exact;               // a column's logarithms, fetched when first needed
  for (std::size_t c = 0; c < width; ++c) {
    bool fetched = false;
    for (std::size_t i = 0; i < a.rows; ++i) {
      if (product[i * width + c] >= kLinearFloor) continue;
      if (!fetched || i % kExactRows == 0) context.throw_if_interrupted();
      if (!fetched) {
        exact.resize(a.cols);
        column(c, exact.data());
        fetched = true;
      }
      out[i * width + c] = log_dot(a.log.row(i), exact.data(), a.cols);
      product[i * width + c] = 0.0;
    }
  }
  std::vector<double> logs(width);
  for (std::size_t i = 0; i < a.rows; ++i) {
    log_plus(product + i * width, a.high[i], high, width, logs.data());
    for (std::size_t c = 0; c < width; ++c) {
      if (product[i * width + c] > 0.0) out[i * width + c] = logs[c];
    }
  }
}

}  // namespace

void CpuBackend::log_matmul(const Context& context, MatrixView<const double> a,
                            MatrixView<const double> b, MatrixView<double> out) const {
  const OneBlasThread one_blas_thread;
  const LeftFactor rows = scale_left(a);
  constexpr std::size_t kPanel = 128;
  parallel_blocks(context, b.cols, kPanel, [&](std::size_t first, std::size_t last) {
    const std::size_t width = last - first;
    std::vector<double> high(width, kLogZero), scaled(b.rows * width), product(a.rows * width),
        result(a.rows * width);
    for (std::size_t t = 0; t < b.rows; ++t) {
      for (std::size_t c = 0; c < width; ++c) high[c] = std::max(high[c], b(t, first + c));
    }
    for (std::size_t t = 0; t < b.rows; ++t) {
      exp_minus(b.row(t) + first, high.data(), width, scaled.data() + t * width);
    }
    const auto column = [&](std::size_t c, double* values) {
      for (std::size_t t = 0; t < b.rows; ++t) values[t] = b(t, first + c);
    };
    multiply_panel(context, rows, scaled.data(), high.data(), width, column, product.data(),
                   result.data());
    for (std::size_t i = 0; i < a.rows; ++i) {
      std::copy_n(result.data() + i * width, width, out.row(i) + first);
    }
  });
}

void CpuBackend::propagate_cores(const Context& context, MatrixView<const double> log_q,
                                 const Array3<double>& log_cores, Array3<double>& out) const {
  const std::size_t D = log_cores.extent(0), S = log_cores.extent(1), K = log_cores.extent(2);
  const OneBlasThread one_blas_thread;
  const LeftFactor rows = scale_left(log_q);
  // Few components: several dimensions share a panel, so that the product stays a matrix product.
  const std::size_t dims = std::clamp<std::size_t>(128 / std::max<std::size_t>(K, 1), 1, D);
  parallel_blocks(context, D, dims, [&](std::size_t first, std::size_t last) {
    const std::size_t width = (last - first) * K;
    std::vector<double> high(width, kLogZero), scaled(S * width), product(S * width),
        result(S * width);
    for (std::size_t d = first; d < last; ++d) {
      double* panel_high = high.data() + (d - first) * K;
      for (std::size_t t = 0; t < S; ++t) {
        for (std::size_t k = 0; k < K; ++k) {
          panel_high[k] = std::max(panel_high[k], log_cores(d, t, k));
        }
      }
      for (std::size_t t = 0; t < S; ++t) {
        exp_minus(log_cores.row(d, t), panel_high, K, scaled.data() + t * width + (d - first) * K);
      }
    }
    const auto column = [&](std::size_t c, double* values) {
      for (std::size_t t = 0; t < S; ++t) values[t] = log_cores(first + c / K, t, c % K);
    };
    multiply_panel(context, rows, scaled.data(), high.data(), width, column, product.data(),
                   result.data());
    for (std::size_t d = first; d < last; ++d) {
      for (std::size_t s = 0; s < S; ++s) {
        std::copy_n(result.data() + s * width + (d - first) * K, K, out.row(d, s));
      }
    }
  });
}

void CpuBackend::propagate_cores_rank_one(const Context& context, double log_identity,
                                          double log_uniform, const Array3<double>& log_cores,
                                          Array3<double>& out) const {
  const std::size_t D = log_cores.extent(0), S = log_cores.extent(1), K = log_cores.extent(2);
  parallel_blocks(context, D, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t d = first; d < last; ++d) {
      for (std::size_t k = 0; k < K; ++k) {
        const double shared = log_uniform + log_sum(log_cores.row(d, 0) + k, S, K);
        for (std::size_t s = 0; s < S; ++s) {
          out(d, s, k) = log_add(log_identity + log_cores(d, s, k), shared);
        }
      }
    }
  });
}

void CpuBackend::propagate_cores_factored(const Context& context, const FactoredPower& q,
                                          const Array3<double>& log_cores,
                                          Array3<double>& out) const {
  const std::size_t D = log_cores.extent(0), S = log_cores.extent(1), K = log_cores.extent(2);
  const Context one_thread = context.on_one_thread();
  parallel_blocks(context, D, 1, [&](std::size_t d, std::size_t) {
    Matrix<double> at_factors(q.rank(), K);
    const MatrixView<const double> cores{log_cores.row(d, 0), S, K};
    log_matmul(one_thread, q.right->log, cores, at_factors.view());
    log_matmul(one_thread, q.log_left, at_factors, {out.row(d, 0), S, K});
    for (std::size_t i = 0; i < S * K; ++i) {
      double& value = out.row(d, 0)[i];
      value = log_add(q.log_stay + cores.data[i], value);
    }
  });
}

}  // namespace bridgemark::backend::cpu
