#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/simd/kernel_sums.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/log_rows.h"
#include "bridgemark/math/weighted_draw.h"

namespace bridgemark::backend::cpu {

namespace {

// Categories of rows [n,D], two bytes each: those below kMaxCategories fit.
using NarrowRows = Matrix<std::uint16_t>;

NarrowRows narrow(StatesView states) {
  NarrowRows rows(states.rows, states.cols);
  std::copy_n(states.data, states.size(), rows.data());
  return rows;
}

Matrix<double> transposed(MatrixView<const double> a) {
  Matrix<double> out(a.cols, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.cols; ++j) out(j, i) = a(i, j);
  }
  return out;
}

// Columns that are summed at a time: their logarithms of eight rows take 16 KiB.
constexpr std::size_t kColumns = 256;
// Tables of the coordinates that are looked up at a time stay in the first cache.
constexpr std::size_t kCachedTable = 32 << 10;
// Beyond this the tables of eight rows would leave the second cache: entries are then looked up in
// the kernel's own matrix.
constexpr std::size_t kLargestTables = 4 << 20;

// The sums of eight rows, or of those that are left.
class RowGroup {
 public:
  RowGroup(const Matrix<double>& log_k, std::size_t dim) : log_k_(log_k), dim_(dim) {
    const std::size_t S = log_k.cols();
    const std::size_t bytes = dim * S * kKernelRows * sizeof(double);
    if (bytes <= kLargestTables) tables_.resize(dim * S * kKernelRows);
    logs_.resize(kColumns * kKernelRows);
    const std::size_t of_coordinate = S * kKernelRows * sizeof(double);
    chunk_ = std::max<std::size_t>(kCachedTable / of_coordinate, 1);
  }

  void sum(const NarrowRows& rows, std::size_t first, const NarrowRows& columns,
           std::span<const double> potential, std::span<double> out) {
    const std::size_t count = std::min(kKernelRows, rows.rows() - first);
    for (std::size_t r = 0; r < kKernelRows; ++r) {
      row_[r] = rows.row(first + std::min(r, count - 1));  // a short group repeats its last row
    }
    fill_tables();
    std::array<double, kKernelRows> high, sum{};
    high.fill(kLogZero);
    for (std::size_t j = 0; j < columns.rows(); j += kColumns) {
      const std::size_t block = std::min(kColumns, columns.rows() - j);
      for (std::size_t c = 0; c < block; ++c) {
        std::fill_n(logs_.data() + c * kKernelRows, kKernelRows, potential[j + c]);
      }
      add_logs(columns.row(j), block);
      add_log_terms(logs_.data(), block, high.data(), sum.data());
    }
    for (std::size_t r = 0; r < count; ++r) {
      out[first + r] = high[r] == kLogZero ? kLogZero : high[r] + std::log(sum[r]);
    }
  }

 private:
  void fill_tables() {
    if (tables_.empty()) return;
    const std::size_t S = log_k_.cols();
    double* entry = tables_.data();
    for (std::size_t d = 0; d < dim_; ++d) {
      std::array<const double*, kKernelRows> from;
      for (std::size_t r = 0; r < kKernelRows; ++r) from[r] = log_k_.row(row_[r][d]);
      for (std::size_t s = 0; s < S; ++s) {
        for (std::size_t r = 0; r < kKernelRows; ++r) *entry++ = from[r][s];
      }
    }
  }

  void add_logs(const std::uint16_t* columns, std::size_t count) {
    if (!tables_.empty()) {
      for (std::size_t d = 0; d < dim_; d += chunk_) {
        add_kernel_logs(tables_.data(), dim_, log_k_.cols(), d, std::min(d + chunk_, dim_), columns,
                        count, logs_.data());
      }
      return;
    }
    for (std::size_t c = 0; c < count; ++c) {
      for (std::size_t r = 0; r < kKernelRows; ++r) {
        double& log = logs_[c * kKernelRows + r];
        for (std::size_t d = 0; d < dim_; ++d) log += log_k_(row_[r][d], columns[c * dim_ + d]);
      }
    }
  }

  const Matrix<double>& log_k_;
  std::size_t dim_, chunk_;
  std::array<const std::uint16_t*, kKernelRows> row_{};
  std::vector<double> tables_;  // [D,S,8], empty where they would be too large
  std::vector<double> logs_;    // [columns,8]
};

class CpuRowKernel : public RowKernel {
 public:
  CpuRowKernel(MatrixView<const double> log_k, StatesView x0, StatesView x1)
      : log_k_(log_k.rows, log_k.cols, std::vector<double>(log_k.data, log_k.data + log_k.size())),
        log_k_of_x1_(transposed(log_k)),
        x0_(narrow(x0)),
        x1_(narrow(x1)) {}

  void log_sums_over_x1(const Context& context, std::span<const double> h,
                        std::span<double> out) const override {
    sums(context, log_k_, x0_, x1_, h, out);
  }
  void log_sums_over_x0(const Context& context, std::span<const double> f,
                        std::span<double> out) const override {
    sums(context, log_k_of_x1_, x1_, x0_, f, out);
  }

 private:
  static void sums(const Context& context, const Matrix<double>& log_k, const NarrowRows& rows,
                   const NarrowRows& columns, std::span<const double> potential,
                   std::span<double> out) {
    constexpr std::size_t kGroups = 16;
    const std::size_t groups = (rows.rows() + kKernelRows - 1) / kKernelRows;
    const std::size_t of_group = columns.size() * kKernelRows;
    parallel_blocks(context, groups, prompt_grain(kGroups, of_group),
                    [&](std::size_t first, std::size_t last) {
                      RowGroup group(log_k, rows.cols());
                      for (std::size_t g = first; g < last; ++g) {
                        group.sum(rows, g * kKernelRows, columns, potential, out);
                      }
                    });
  }

  Matrix<double> log_k_, log_k_of_x1_;
  NarrowRows x0_, x1_;
};

// logs[j] = log weight of row j given x0; returns the largest.
double weigh(const WeightedRows& weighted, const std::int32_t* x0, std::vector<double>& logs) {
  const StatesView rows = weighted.rows;
  double high = kLogZero;
  for (std::size_t j = 0; j < rows.rows; ++j) {
    logs[j] = weighted.h[j] +
              log_of_rows(weighted.log_k.data, weighted.log_k.cols, x0, rows.row(j), rows.cols);
    high = std::max(high, logs[j]);
  }
  return high;
}

}  // namespace

std::unique_ptr<RowKernel> CpuBackend::make_row_kernel(const Context&,
                                                       MatrixView<const double> log_k,
                                                       StatesView x0, StatesView x1) const {
  return std::make_unique<CpuRowKernel>(log_k, x0, x1);
}

void CpuBackend::sample_weighted_rows(const Context& context, const WeightedRows& weighted,
                                      StatesView x0, const DrawKey& key, std::uint64_t first_index,
                                      MutableStatesView out) const {
  const std::size_t n = weighted.rows.rows, D = weighted.rows.cols;
  parallel_blocks(
      context, x0.rows, prompt_grain(64, n * D), [&](std::size_t begin, std::size_t end) {
        std::vector<double> logs(n), blocks(weight_blocks(n));
        double high = kLogZero;
        for (std::size_t b = begin; b < end; ++b) {
          // Many draws for one x0 come one behind the other.
          if (b == begin || !std::equal(x0.row(b), x0.row(b) + D, x0.row(b - 1))) {
            high = weigh(weighted, x0.row(b), logs);
            for (std::size_t k = 0; k < blocks.size(); ++k) {
              blocks[k] = block_weight(logs.data(), n, k, high);
            }
          }
          const double uniform = DrawSequence(key, first_index + b).uniform();
          const std::size_t drawn = draw_weighted(logs.data(), n, blocks.data(), high, uniform);
          std::copy_n(weighted.rows.row(drawn), D, out.row(b));
        }
      });
}

void CpuBackend::weighted_row_marginals(const Context& context, const WeightedRows& weighted,
                                        StatesView x0, MatrixView<double> out) const {
  const std::size_t n = weighted.rows.rows, D = weighted.rows.cols, S = weighted.log_k.cols;
  parallel_blocks(context, x0.rows, prompt_grain(8, 8 * n * D),
                  [&](std::size_t begin, std::size_t end) {
                    std::vector<double> logs(n), high(S), sum(S);
                    for (std::size_t b = begin; b < end; ++b) {
                      weigh(weighted, x0.row(b), logs);
                      for (std::size_t d = 0; d < D; ++d) {
                        // Each category has a maximum of its own, so that none underflows beside
                        // another.
                        std::ranges::fill(high, kLogZero);
                        std::ranges::fill(sum, 0.0);
                        for (std::size_t j = 0; j < n; ++j) {
                          double& category = high[static_cast<std::size_t>(weighted.rows(j, d))];
                          category = std::max(category, logs[j]);
                        }
                        for (std::size_t j = 0; j < n; ++j) {
                          const auto s = static_cast<std::size_t>(weighted.rows(j, d));
                          if (high[s] != kLogZero) sum[s] += std::exp(logs[j] - high[s]);
                        }
                        double* marginal = out.row(b) + d * S;
                        for (std::size_t s = 0; s < S; ++s) {
                          marginal[s] = high[s] == kLogZero ? kLogZero : high[s] + std::log(sum[s]);
                        }
                        log_normalize(marginal, S);
                      }
                    }
                  });
}

}  // namespace bridgemark::backend::cpu
