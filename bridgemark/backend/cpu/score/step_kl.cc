#include <algorithm>

#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/simd/vector_math.h"
#include "bridgemark/core/parallel.h"

namespace bridgemark::backend::cpu {

void CpuBackend::add_step_kl(const Context& context, const double* log_p, const double* log_q,
                             std::size_t rows, std::size_t dim, std::size_t num_categories,
                             double* kl) const {
  const std::size_t S = num_categories;
  parallel_blocks(context, rows, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t d = 0; d < dim; ++d) {
        const std::size_t at = (i * dim + d) * S;
        kl[i] += fast_log_kl(log_p + at, log_q + at, S);
      }
    }
  });
}

void CpuBackend::step_log_probability(const Context& context, const double* log_p, StatesView to,
                                      std::size_t num_categories, double* out) const {
  const std::size_t D = to.cols, S = num_categories;
  parallel_blocks(context, to.rows, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      double sum = 0.0;
      for (std::size_t d = 0; d < D; ++d) {
        sum += log_p[(b * D + d) * S + static_cast<std::size_t>(to(b, d))];
      }
      out[b] = sum;
    }
  });
}

void CpuBackend::take_rows(const Context& context, StatesView x,
                           std::span<const std::uint32_t> rows, MutableStatesView out) const {
  parallel_blocks(context, rows.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) std::copy_n(x.row(rows[i]), x.cols, out.row(i));
  });
}

}  // namespace bridgemark::backend::cpu
