#include "bridgemark/bridge/bridge.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/bridge_step.h"
#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/backend/plan/sparse_power.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/core/states.h"

namespace bridgemark {

// The conditional and the transition asked for last, for the host and for a device: callers walk a
// chain step by step and ask for marginals and draws of the same one.
struct Bridge::Prepared {
  struct Slot {
    int num_steps = 0;
    int n = 0;
    std::shared_ptr<const backend::BridgeStep> step;
  };
  struct Slots {
    Slot conditional;
    Slot transition;
  };

  std::mutex mutex;
  Slots host, device;
  backend::KeptTables cores;  // the potential's, on the device
};

Bridge::Bridge(ReferenceProcess process, int own_num_steps)
    : process_(std::move(process)),
      own_num_steps_(own_num_steps),
      prepared_(std::make_shared<Prepared>()) {}

void Bridge::check() const {
  if (process_.num_categories() != num_categories()) {
    throw_invalid("bridge", "the potential must have {} categories like the reference, got {}",
                  process_.num_categories(), num_categories());
  }
  if (own_num_steps_ != 0 && !has_transitions(own_num_steps_)) {
    throw_invalid("bridge", "own_num_steps must be 0 or a positive divisor of {}, got {}",
                  process_.total_steps(), own_num_steps_);
  }
}

void Bridge::set_source(SourceLaw source) {
  if (source.dim() != dim() || source.num_categories() != num_categories()) {
    throw_invalid("bridge", "source must be of {} dimensions with {} categories, got {} with {}",
                  dim(), num_categories(), source.dim(), source.num_categories());
  }
  source_ = std::make_shared<const SourceLaw>(std::move(source));
}

Array3<double> Bridge::propagated_cores(const Context& context, const ReferenceChain& chain,
                                        int n) const {
  const Array3<double>& cores = log_cores();
  const int rest = chain.num_steps() - n;
  if (rest == 0) return cores;
  Array3<double> out(cores.extent(0), cores.extent(1), cores.extent(2));
  if (const auto rank_one = process_.rank_one_power(chain.elementary_steps(rest))) {
    backend::of(context).propagate_cores_rank_one(context, rank_one->log_identity,
                                                  rank_one->log_uniform, cores, out);
    return out;
  }
  const int elementary = chain.elementary_steps(rest);
  // A device that has no product by factors takes the table where there is one.
  if (context.device == Device::kCpu || !process_.has_tables()) {
    if (const auto factors = process_.factored_power(context, elementary)) {
      backend::of(context).propagate_cores_factored(context, *factors, cores, out);
      return out;
    }
  }
  const auto sparse = process_.sparse_power(context, elementary);
  const std::size_t S = cores.extent(1);
  if (sparse && 2 * sparse->num_entries() < S * S) {
    backend::propagate_cores(context, *sparse, cores, out);
    return out;
  }
  const SharedMatrix log_q = process_.log_power(context, elementary);
  backend::of(context).propagate_cores(context, log_q, cores, out);
  return out;
}

std::shared_ptr<const backend::BridgeStep> Bridge::step(const Context& context, int num_steps,
                                                        int n, std::size_t num_samples) const {
  const ReferenceChain chain(process_, num_steps);
  if (n < 0 || n >= num_steps) {
    throw_invalid("bridge", "step must lie in 0..{}, got {}", num_steps - 1, n);
  }
  const std::lock_guard lock(prepared_->mutex);
  const bool on_host = context.device == Device::kCpu;
  Prepared::Slots& slots = on_host ? prepared_->host : prepared_->device;
  Prepared::Slot& slot = num_steps == 1 ? slots.conditional : slots.transition;
  if (!slot.step || slot.num_steps != num_steps || slot.n != n) {
    // A device makes large tables itself; small ones come from the host, which may add sums, and
    // so do those of a tree.
    const bool small =
        tree() != nullptr || backend::can_tabulate(dim(), log_cores().extent(1), num_components());
    slot = {num_steps, n,
            std::make_shared<const backend::BridgeStep>(on_host || small
                                                            ? make_host_step(context, chain, n)
                                                            : make_device_step(context, chain, n))};
  }
  // The host makes cumulative sums: for a device only where very many are drawn with them.
  constexpr std::size_t kManyOnDevice = std::size_t{1} << 20;
  if ((on_host || num_samples >= kManyOnDevice) && slot.step->cumulative.size() == 0 &&
      backend::worth_tabulating(*slot.step, num_samples)) {
    slot.step =
        std::make_shared<const backend::BridgeStep>(backend::tabulated(context, *slot.step));
  }
  return slot.step;
}

backend::BridgeStep Bridge::make_host_step(const Context& context, const ReferenceChain& chain,
                                           int n) const {
  return backend::make_bridge_step(context, {log_weights().begin(), log_weights().end()},
                                   propagated_cores(context, chain, n), chain.power(context, 1),
                                   propagated_cores(context, chain, n + 1), log_moves(), tree());
}

backend::BridgeStep Bridge::make_device_step(const Context& context, const ReferenceChain& chain,
                                             int n) const {
  const int rest = chain.num_steps() - n;
  const SharedMatrix one = chain.log_onestep(context), before = chain.log_cumulative(context, rest);
  std::optional<SharedMatrix> after;
  if (rest > 1) after = chain.log_cumulative(context, rest - 1);
  return backend::of(context).make_device_step(
      context, {log_weights(), log_cores(), log_moves(), one, before,
                after ? &after->matrix() : nullptr, prepared_->cores});
}

std::shared_ptr<const backend::BridgeStep> Bridge::conditional_step(const Context& context,
                                                                    std::size_t num_samples) const {
  return step(context, 1, 0, num_samples);
}

void Bridge::log_sum_components(const Context& context, const Array3<double>& log_u, StatesView x,
                                std::span<double> out) const {
  if (tree() != nullptr) {
    backend::of(context).log_tree(context, *tree(), log_weights(), log_moves(), log_u, x, out);
  } else if (log_moves().size() == 0) {
    backend::of(context).log_mixture(context, log_weights(), log_u, x, out);
  } else {
    backend::of(context).log_chain(context, log_weights(), log_moves(), log_u, x, out);
  }
}

void Bridge::log_potential(const Context& context, StatesView x, std::span<double> out) const {
  check_states("x", x, dim(), num_categories());
  log_sum_components(context, log_cores(), x, out);
}

void Bridge::log_normalizer(const Context& context, StatesView x0, std::span<double> out) const {
  check_states("x0", x0, dim(), num_categories());
  log_sum_components(context, propagated_cores(context, ReferenceChain(process_, 1), 0), x0, out);
}

void Bridge::log_phi(const Context& context, int num_steps, int n, StatesView x,
                     std::span<double> out) const {
  check_states("x", x, dim(), num_categories());
  const ReferenceChain chain(process_, num_steps);
  if (n < 0 || n > num_steps) {
    throw_invalid("bridge", "step must lie in 0..{}, got {}", num_steps, n);
  }
  log_sum_components(context, propagated_cores(context, chain, n), x, out);
}

void Bridge::sample(const Context& context, StatesView x0, const DrawKey& key,
                    std::uint64_t first_index, MutableStatesView x1) const {
  check_states("x0", x0, dim(), num_categories());
  backend::of(context).sample_bridge_step(context, *step(context, 1, 0, x0.rows), x0, key,
                                          first_index, x1);
}

void Bridge::write_log_marginals(const Context& context, StatesView x0,
                                 MatrixView<double> out) const {
  check_states("x0", x0, dim(), num_categories());
  backend::of(context).bridge_step_marginals(context, *step(context, 1, 0, 0), x0, out);
}

void Bridge::log_conditional(const Context& context, StatesView x0, StatesView x1,
                             std::span<double> out) const {
  log_transition(context, 1, 0, x0, x1, out);
}

bool Bridge::has_transitions(int num_steps) const {
  return num_steps >= 1 && process_.total_steps() % num_steps == 0;
}

void Bridge::write_log_transition_marginals(const Context& context, int num_steps, int n,
                                            StatesView x, MatrixView<double> out) const {
  check_states("x", x, dim(), num_categories());
  backend::of(context).bridge_step_marginals(context, *step(context, num_steps, n, 0), x, out);
}

void Bridge::add_transition_kl(const Context& context, int num_steps, int n, StatesView x,
                               const Bridge& q, double* kl) const {
  check_states("x", x, dim(), num_categories());
  backend::of(context).add_bridge_step_kl(context, *step(context, num_steps, n, 0),
                                          *q.step(context, num_steps, n, 0), x, kl);
}

void Bridge::sample_transition(const Context& context, int num_steps, int n, StatesView x,
                               const DrawKey& key, std::uint64_t first_index,
                               MutableStatesView out) const {
  check_states("x", x, dim(), num_categories());
  backend::of(context).sample_bridge_step(context, *step(context, num_steps, n, x.rows), x, key,
                                          first_index, out);
}

void Bridge::log_transition(const Context& context, int num_steps, int n, StatesView from,
                            StatesView to, std::span<double> out) const {
  check_states("from", from, dim(), num_categories());
  check_states("to", to, dim(), num_categories());
  if (from.rows != to.rows) {
    throw_invalid("bridge", "both states must have the same rows, got {} and {}", from.rows,
                  to.rows);
  }
  if (from.on_device) {
    backend::of(context).bridge_step_log_probability(context, *step(context, num_steps, n, 0), from,
                                                     to, out.data());
    return;
  }
  const ReferenceChain chain(process_, num_steps);
  std::vector<double> log_before(from.rows);
  log_phi(context, num_steps, n, from, log_before);
  log_phi(context, num_steps, n + 1, to, out);
  const backend::ReferencePower q = chain.power(context, 1);
  constexpr std::size_t kRows = 1024;
  parallel_blocks(context, from.rows, kRows, [&](std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      out[b] += q.log_of_rows(from.row(b), to.row(b), dim()) - log_before[b];
    }
  });
}

}  // namespace bridgemark
