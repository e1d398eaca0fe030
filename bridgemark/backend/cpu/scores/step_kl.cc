#include <limits>
#include <vector>

#include "bridgemark/backend/cpu/ops.h"
#include "bridgemark/backend/cpu/simd/vector_math.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend::cpu {

namespace {

// log_kl of math/, with the exponentials made in vectors into p [count].
double kl_of_row(const double* log_p, const double* log_q, std::size_t count, double* p) {
  exp_minus(log_p, 0.0, count, p);
  double sum = 0.0;
  for (std::size_t s = 0; s < count; ++s) {
    if (log_p[s] == kLogZero) continue;
    if (log_q[s] == kLogZero) return std::numeric_limits<double>::infinity();
    sum += p[s] * (log_p[s] - log_q[s]);
  }
  return sum;
}

}  // namespace

void add_step_kl(const Context& context, const double* log_p, const double* log_q, std::size_t rows,
                 std::size_t dim, std::size_t num_categories, double* kl) {
  const std::size_t S = num_categories;
  parallel_blocks(context, rows, 16, [&](std::size_t begin, std::size_t end) {
    std::vector<double> p(S);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t d = 0; d < dim; ++d) {
        const std::size_t at = (i * dim + d) * S;
        kl[i] += kl_of_row(log_p + at, log_q + at, S, p.data());
      }
    }
  });
}

}  // namespace bridgemark::backend::cpu
