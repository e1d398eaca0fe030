#include "bridgemark/metric/trajectory_kl.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

// sum_s p (log p - log q); terms with p = 0 are 0, and +inf where q = 0 < p, however small p is.
double kl_divergence(const double* log_p, const double* log_q, std::size_t count) {
  double sum = 0.0;
  for (std::size_t s = 0; s < count; ++s) {
    if (log_p[s] == kLogZero) continue;
    if (log_q[s] == kLogZero) return std::numeric_limits<double>::infinity();
    sum += std::exp(log_p[s]) * (log_p[s] - log_q[s]);
  }
  return sum;
}

}  // namespace

MeanEstimate trajectory_kl(const Context& context, const Coupling& p, const Coupling& q,
                           int num_steps, StatesView x0, std::uint64_t seed) {
  const std::size_t D = p.dim(), S = static_cast<std::size_t>(p.num_categories());
  constexpr std::size_t kMaxEntries = std::size_t{1} << 23;  // 64 MiB of marginals a side
  const std::size_t chunk = std::max<std::size_t>(1, kMaxEntries / (D * S));
  std::vector<double> kl(x0.rows, 0.0);
  Array3<double> log_p, log_q;
  for (std::size_t first = 0; first < x0.rows; first += chunk) {
    const std::size_t rows = std::min(chunk, x0.rows - first);
    States current(rows, D, {x0.row(first), x0.row(first) + rows * D}), next(rows, D);
    for (int n = 0; n < num_steps; ++n) {
      p.log_transition_marginals(context, num_steps, n, current, log_p);
      q.log_transition_marginals(context, num_steps, n, current, log_q);
      parallel_blocks(context, rows, 16, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          for (std::size_t d = 0; d < D; ++d) {
            kl[first + i] += kl_divergence(log_p.row(i, d), log_q.row(i, d), S);
          }
        }
      });
      if (n + 1 == num_steps) break;
      const DrawKey key{seed, DrawPurpose::kTransition, static_cast<std::uint32_t>(n)};
      p.sample_transition(context, num_steps, n, current, key, first, next);
      std::swap(current, next);
    }
    context.report("trajectory KL", first + rows, x0.rows);
  }
  return estimate_mean(kl);
}

}  // namespace bridgemark
