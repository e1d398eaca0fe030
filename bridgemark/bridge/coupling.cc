#include "bridgemark/bridge/coupling.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/placed_array.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/process/pinned_reference.h"

namespace bridgemark {

void Coupling::write_log_marginals(const Context&, StatesView, MatrixView<double>) const {
  throw_invalid("coupling", "this coupling gives no conditional marginals");
}

void Coupling::log_marginals(const Context& context, StatesView x0, Array3<double>& out) const {
  out = Array3<double>(x0.rows, dim(), static_cast<std::size_t>(num_categories()));
  write_log_marginals(context, x0, out.as_matrix());
}

void Coupling::log_conditional(const Context&, StatesView, StatesView, std::span<double>) const {
  throw_invalid("coupling", "this coupling gives no joint log-probability");
}

bool Coupling::has_transitions(int) const { return false; }

void Coupling::write_log_transition_marginals(const Context&, int num_steps, int, StatesView,
                                              MatrixView<double>) const {
  throw_invalid("coupling", "this coupling has no transitions with num_steps = {}", num_steps);
}

void Coupling::log_transition_marginals(const Context& context, int num_steps, int n, StatesView x,
                                        Array3<double>& out) const {
  out = Array3<double>(x.rows, dim(), static_cast<std::size_t>(num_categories()));
  write_log_transition_marginals(context, num_steps, n, x, out.as_matrix());
}

void Coupling::log_transition(const Context& context, int num_steps, int n, StatesView from,
                              StatesView to, std::span<double> out) const {
  if (from.rows != to.rows || from.on_device != to.on_device) {
    throw_invalid("coupling", "both states must have the same rows and memory, got {} and {} rows",
                  from.rows, to.rows);
  }
  check_states("to", to, dim(), num_categories());
  constexpr std::size_t kMaxEntries = std::size_t{1} << 21;  // 16 MiB of marginals
  const auto S = static_cast<std::size_t>(num_categories());
  const std::size_t part = std::min(from.rows, std::max<std::size_t>(1, kMaxEntries / (dim() * S)));
  backend::PlacedArray<double> log_marginals(context, from.on_device, part, dim() * S);
  const Context where = from.on_device ? context : context.on_host();
  for (std::size_t first = 0; first < from.rows; first += part) {
    const std::size_t rows = std::min(part, from.rows - first);
    write_log_transition_marginals(context, num_steps, n, from.slice(first, rows),
                                   log_marginals.view().slice(0, rows));
    backend::of(where).step_log_probability(where, log_marginals.view().data, to.slice(first, rows),
                                            S, out.data() + first);
  }
}

void Coupling::sample_transition(const Context& context, int num_steps, int n, StatesView x,
                                 const DrawKey& key, std::uint64_t first_index,
                                 MutableStatesView out) const {
  Array3<double> log_marginals;
  log_transition_marginals(context, num_steps, n, x, log_marginals);
  const auto S = static_cast<std::size_t>(num_categories());
  parallel_blocks(context, x.rows, 64, [&](std::size_t begin, std::size_t end) {
    std::vector<double> cumulative(S);
    for (std::size_t i = begin; i < end; ++i) {
      DrawSequence draws(key, first_index + i);
      for (std::size_t d = 0; d < x.cols; ++d) {
        cumulate_log(log_marginals.row(i, d), S, cumulative.data());
        out(i, d) = static_cast<std::int32_t>(draw_category(cumulative.data(), S, draws.uniform()));
      }
    }
  });
}

std::string Coupling::why_missing(Ability ability, int num_steps) const {
  switch (ability) {
    case Ability::kMarginals:
      return "the coupling has no closed-form marginals";
    case Ability::kJoint:
      return "the coupling gives no joint log-probability";
    case Ability::kTransitions:
      break;
  }
  return fmt::format("the coupling has no transitions with {} steps", num_steps);
}

Array3<std::int32_t> sample_markov_trajectory(const Context& context, const Coupling& coupling,
                                              int num_steps, StatesView x0, std::uint64_t seed,
                                              std::uint64_t first_index) {
  if (num_steps < 1) throw_invalid("coupling", "num_steps must be positive, got {}", num_steps);
  const std::size_t D = x0.cols;
  const auto steps = static_cast<std::size_t>(num_steps);
  Array3<std::int32_t> trajectory(x0.rows, steps + 1, D);
  States current(x0.rows, D, {x0.data, x0.data + x0.size()});
  States next(x0.rows, D);
  const auto store = [&](std::size_t n) {
    for (std::size_t i = 0; i < x0.rows; ++i) std::copy_n(current.row(i), D, trajectory.row(i, n));
  };
  store(0);
  for (int n = 0; n < num_steps; ++n) {
    const DrawKey key{seed, DrawPurpose::kTransition, static_cast<std::uint32_t>(n)};
    coupling.sample_transition(context, num_steps, n, current, key, first_index, next);
    std::swap(current, next);
    store(static_cast<std::size_t>(n) + 1);
    context.report("trajectories", static_cast<std::uint64_t>(n) + 1,
                   static_cast<std::uint64_t>(num_steps));
  }
  return trajectory;
}

Array3<std::int32_t> sample_pinned_trajectory(const Context& context, const Coupling& coupling,
                                              const ReferenceProcess& process, int num_steps,
                                              StatesView x0, std::uint64_t seed,
                                              std::uint64_t first_index) {
  const ReferenceChain chain(process, num_steps);
  const auto steps = static_cast<std::size_t>(num_steps);
  const std::size_t D = x0.cols;
  States end(x0.rows, D);
  coupling.sample(context, x0, {seed, DrawPurpose::kConditional}, first_index, end);
  Array3<std::int32_t> trajectory(x0.rows, steps + 1, D);
  States current(x0.rows, D, {x0.data, x0.data + x0.size()});
  States next(x0.rows, D);
  for (std::size_t i = 0; i < x0.rows; ++i) {
    std::copy_n(x0.row(i), D, trajectory.row(i, 0));
    std::copy_n(end.row(i), D, trajectory.row(i, steps));
  }
  for (int n = 0; n + 1 < num_steps; ++n) {
    const DrawKey key{seed, DrawPurpose::kPinned, static_cast<std::uint32_t>(n)};
    PinnedReference::step(context, chain, n).sample(context, current, end, key, first_index, next);
    std::swap(current, next);
    for (std::size_t i = 0; i < x0.rows; ++i) {
      std::copy_n(current.row(i), D, trajectory.row(i, static_cast<std::size_t>(n) + 1));
    }
    context.report("trajectories", static_cast<std::uint64_t>(n) + 1,
                   static_cast<std::uint64_t>(num_steps));
  }
  return trajectory;
}

}  // namespace bridgemark
