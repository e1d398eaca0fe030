#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/math/philox.h"

// The kernel k(x0, x1) = prod_d exp(log_k[x0^d, x1^d]) between rows of two ends. No memory holds
// it: its entries are made again for every sum, so that n rows take O(n D) bytes instead of O(n^2).
namespace bridgemark::backend {

class RowKernel {
 public:
  virtual ~RowKernel() = default;

  // out[i] = log sum_j k(x0[i], x1[j]) exp(h[j]); -inf where no term is positive. Potentials and
  // results lie in host memory, the rows stay where the kernel was made.
  virtual void log_sums_over_x1(const Context& context, std::span<const double> h,
                                std::span<double> out) const = 0;

  // out[j] = log sum_i k(x0[i], x1[j]) exp(f[i]).
  virtual void log_sums_over_x0(const Context& context, std::span<const double> f,
                                std::span<double> out) const = 0;
};

// What weighs rows of x1 given an x0: row j with k(x0, rows[j]) exp(h[j]).
struct WeightedRows {
  MatrixView<const double> log_k;  // [S,S]
  StatesView rows;                 // [n,D]
  std::span<const double> h;       // [n]
};

}  // namespace bridgemark::backend
