#include "bridgemark/backend/cpu/ops.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend::cpu {

void add_step_kl(const Context& context, const double* log_p, const double* log_q, std::size_t rows,
                 std::size_t dim, std::size_t num_categories, double* kl) {
  const std::size_t S = num_categories;
  parallel_blocks(context, rows, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t d = 0; d < dim; ++d) {
        const std::size_t at = (i * dim + d) * S;
        kl[i] += log_kl(log_p + at, log_q + at, S);
      }
    }
  });
}

}  // namespace bridgemark::backend::cpu
