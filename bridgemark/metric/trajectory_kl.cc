#include "bridgemark/metric/trajectory_kl.h"

#include <algorithm>
#include <utility>

#include "bridgemark/backend/device_scores.h"
#include "bridgemark/metric/placed_arrays.h"

namespace bridgemark {

MeanEstimate trajectory_kl(const Context& context, const Coupling& p, const Coupling& q,
                           int num_steps, StatesView x0, std::uint64_t seed) {
  const std::size_t D = p.dim(), S = static_cast<std::size_t>(p.num_categories());
  constexpr std::size_t kMaxEntries = std::size_t{1} << 23;  // 64 MiB of marginals a side
  const std::size_t part = std::min(x0.rows, std::max<std::size_t>(1, kMaxEntries / (D * S)));
  const bool on_device = x0.on_device;
  Context where = context;  // of the sums: that of the arrays
  if (!on_device) where.device = Device::kCpu;
  PlacedDoubles log_p(context, on_device, part * D * S), log_q(context, on_device, part * D * S),
      kl = PlacedDoubles::zeros(context, on_device, x0.rows);
  PlacedStates even(context, on_device, part, D), odd(context, on_device, part, D);
  for (std::size_t first = 0; first < x0.rows; first += part) {
    const std::size_t rows = std::min(part, x0.rows - first);
    StatesView current = x0.slice(first, rows);
    MutableStatesView next = even.view().slice(0, rows), after = odd.view().slice(0, rows);
    for (int n = 0; n < num_steps; ++n) {
      p.write_log_transition_marginals(context, num_steps, n, current, log_p.data());
      q.write_log_transition_marginals(context, num_steps, n, current, log_q.data());
      backend::add_step_kl(where, log_p.data(), log_q.data(), rows, D, S, kl.data() + first);
      if (n + 1 == num_steps) break;
      const DrawKey key{seed, DrawPurpose::kTransition, static_cast<std::uint32_t>(n)};
      p.sample_transition(context, num_steps, n, current, key, first, next);
      current = next;
      std::swap(next, after);
    }
    context.report("trajectory KL", first + rows, x0.rows);
  }
  return estimate_mean(std::move(kl).to_host(context));
}

}  // namespace bridgemark
