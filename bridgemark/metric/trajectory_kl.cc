#include "bridgemark/metric/trajectory_kl.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/backend/device_memory.h"
#include "bridgemark/backend/device_scores.h"

namespace bridgemark {

namespace {

constexpr std::size_t kMaxEntries = std::size_t{1} << 23;  // 64 MiB of marginals a side

DrawKey key_of_step(std::uint64_t seed, int n) {
  return {seed, DrawPurpose::kTransition, static_cast<std::uint32_t>(n)};
}

// The same with all of it in the memory of the context's device.
MeanEstimate trajectory_kl_on_device(const Context& context, const Coupling& p, const Coupling& q,
                                     int num_steps, StatesView x0, std::uint64_t seed) {
  const std::size_t D = p.dim(), S = static_cast<std::size_t>(p.num_categories());
  const std::size_t part = std::min(x0.rows, std::max<std::size_t>(1, kMaxEntries / (D * S)));
  const auto doubles = [&](std::size_t count) {
    return backend::allocate_memory(context, count * sizeof(double));
  };
  const std::shared_ptr<void> memory_p = doubles(part * D * S), memory_q = doubles(part * D * S),
                              memory_kl = doubles(x0.rows);
  auto *log_p = static_cast<double*>(memory_p.get()), *log_q = static_cast<double*>(memory_q.get()),
       *sums = static_cast<double*>(memory_kl.get());
  std::vector<double> kl(x0.rows, 0.0);
  const std::size_t bytes = kl.size() * sizeof(double);
  backend::copy_memory(context, kl.data(), sums, bytes);
  backend::DeviceStates first_states(context, part, D), second_states(context, part, D);
  for (std::size_t first = 0; first < x0.rows; first += part) {
    const std::size_t rows = std::min(part, x0.rows - first);
    MutableStatesView current = first_states.view().slice(0, rows),
                      next = second_states.view().slice(0, rows);
    backend::copy_memory(context, x0.row(first), current.data, current.size() * sizeof(*x0.data));
    for (int n = 0; n < num_steps; ++n) {
      p.write_log_transition_marginals(context, num_steps, n, current, log_p);
      q.write_log_transition_marginals(context, num_steps, n, current, log_q);
      backend::add_step_kl(context, log_p, log_q, rows, D, S, sums + first);
      if (n + 1 == num_steps) break;
      p.sample_transition(context, num_steps, n, current, key_of_step(seed, n), first, next);
      std::swap(current, next);
    }
    context.report("trajectory KL", first + rows, x0.rows);
  }
  backend::copy_memory(context, sums, kl.data(), bytes);
  return estimate_mean(kl);
}

}  // namespace

MeanEstimate trajectory_kl(const Context& context, const Coupling& p, const Coupling& q,
                           int num_steps, StatesView x0, std::uint64_t seed) {
  if (x0.on_device) return trajectory_kl_on_device(context, p, q, num_steps, x0, seed);
  const std::size_t D = p.dim(), S = static_cast<std::size_t>(p.num_categories());
  const std::size_t chunk = std::max<std::size_t>(1, kMaxEntries / (D * S));
  Context host = context;  // for arrays of the host
  host.device = Device::kCpu;
  std::vector<double> kl(x0.rows, 0.0);
  Array3<double> log_p, log_q;
  for (std::size_t first = 0; first < x0.rows; first += chunk) {
    const std::size_t rows = std::min(chunk, x0.rows - first);
    States current(rows, D, {x0.row(first), x0.row(first) + rows * D}), next(rows, D);
    for (int n = 0; n < num_steps; ++n) {
      p.log_transition_marginals(context, num_steps, n, current, log_p);
      q.log_transition_marginals(context, num_steps, n, current, log_q);
      backend::add_step_kl(host, log_p.data(), log_q.data(), rows, D, S, kl.data() + first);
      if (n + 1 == num_steps) break;
      p.sample_transition(context, num_steps, n, current, key_of_step(seed, n), first, next);
      std::swap(current, next);
    }
    context.report("trajectory KL", first + rows, x0.rows);
  }
  return estimate_mean(kl);
}

}  // namespace bridgemark
