#include "bridgemark/metric/trajectory_kl.h"

#include <algorithm>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/placed_array.h"
#include "bridgemark/bridge/bridge.h"

namespace bridgemark {

namespace {

// The KL of one step of p from q, where the states lie. Two bridges on the CPU have it without
// their marginals.
class StepKl {
 public:
  StepKl(const Context& context, const Coupling& p, const Coupling& q, int num_steps,
         bool on_device, std::size_t most_rows)
      : context_(context),
        where_(on_device ? context : context.on_host()),
        p_(p),
        q_(q),
        num_steps_(num_steps),
        bridge_p_(dynamic_cast<const Bridge*>(&p)),
        bridge_q_(dynamic_cast<const Bridge*>(&q)),
        fused_(context.device == Device::kCpu && bridge_p_ != nullptr && bridge_q_ != nullptr),
        log_p_(context, on_device, fused_ ? 0 : most_rows, entries()),
        log_q_(context, on_device, fused_ ? 0 : most_rows, entries()) {}

  // kl[b] += that of step n from x[b].
  void add(int n, StatesView x, double* kl) {
    if (fused_) {
      bridge_p_->add_transition_kl(context_, num_steps_, n, x, *bridge_q_, kl);
      return;
    }
    const MatrixView<double> log_p = log_p_.view().slice(0, x.rows),
                             log_q = log_q_.view().slice(0, x.rows);
    p_.write_log_transition_marginals(context_, num_steps_, n, x, log_p);
    q_.write_log_transition_marginals(context_, num_steps_, n, x, log_q);
    backend::of(where_).add_step_kl(where_, log_p.data, log_q.data, x.rows, p_.dim(), categories(),
                                    kl);
  }

 private:
  std::size_t categories() const { return static_cast<std::size_t>(p_.num_categories()); }
  std::size_t entries() const { return p_.dim() * categories(); }

  const Context& context_;
  const Context where_;  // of the sums: that of the arrays
  const Coupling &p_, &q_;
  const int num_steps_;
  const Bridge *bridge_p_, *bridge_q_;
  const bool fused_;
  backend::PlacedArray<double> log_p_, log_q_;
};

}  // namespace

std::vector<double> trajectory_kls(const Context& context, const Coupling& p, const Coupling& q,
                                   int num_steps, StatesView x0, std::uint64_t seed) {
  const std::size_t D = p.dim(), S = static_cast<std::size_t>(p.num_categories());
  constexpr std::size_t kMaxEntries = std::size_t{1} << 23;  // 64 MiB of marginals a side
  const std::size_t part = std::min(x0.rows, std::max<std::size_t>(1, kMaxEntries / (D * S)));
  const bool on_device = x0.on_device;
  StepKl step(context, p, q, num_steps, on_device, part);
  backend::PlacedArray<double> kl(context, on_device, Matrix<double>(x0.rows, 1));
  backend::PlacedStates even(context, on_device, part, D), odd(context, on_device, part, D);
  for (std::size_t first = 0; first < x0.rows; first += part) {
    const std::size_t rows = std::min(part, x0.rows - first);
    StatesView current = x0.slice(first, rows);
    MutableStatesView next = even.view().slice(0, rows), after = odd.view().slice(0, rows);
    for (int n = 0; n < num_steps; ++n) {
      step.add(n, current, kl.view().row(first));
      if (n + 1 == num_steps) break;
      const DrawKey key{seed, DrawPurpose::kTransition, static_cast<std::uint32_t>(n)};
      p.sample_transition(context, num_steps, n, current, key, first, next);
      current = next;
      std::swap(next, after);
    }
    context.report("trajectory KL", first + rows, x0.rows);
  }
  const Matrix<double> sums = std::move(kl).to_host(context);
  return {sums.data(), sums.data() + sums.size()};
}

MeanEstimate trajectory_kl(const Context& context, const Coupling& p, const Coupling& q,
                           int num_steps, StatesView x0, std::uint64_t seed) {
  return estimate_mean(trajectory_kls(context, p, q, num_steps, x0, seed));
}

}  // namespace bridgemark
