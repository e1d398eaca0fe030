#include "python/bindings/couplings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "python/bindings/calls.h"
#include "python/bindings/results.h"

namespace nb = nanobind;

namespace bridgemark::python {

namespace {

// Rows drawn between two looks at the signals.
constexpr std::size_t kChunk = std::size_t{1} << 16;

StatesArgument states_of(const Coupling& coupling, std::string_view name, const ArrayLike& x) {
  return {name, x, coupling.dim(), coupling.num_categories()};
}

void require_transitions(const Coupling& coupling, int num_steps) {
  if (!coupling.has_transitions(num_steps)) {
    throw_invalid("coupling", "this coupling has no transitions with num_steps = {}", num_steps);
  }
}

}  // namespace

nb::object draw(const Coupling& coupling, const ArrayLike& x0, const Seed& seed) {
  const StatesArgument given = states_of(coupling, "x0", x0);
  const DrawKey key{seed.draw(), DrawPurpose::kConditional};
  return x0.answer(to_numpy(interruptible([&](const Context& context) {
    const std::size_t rows = given.rows();
    States x1(rows, coupling.dim());
    for (std::size_t first = 0; first < rows; first += kChunk) {
      const std::size_t count = std::min(kChunk, rows - first);
      coupling.sample(context, given.view().slice(first, count), key, first,
                      x1.view().slice(first, count));
      context.report("samples", first + count, rows);
    }
    return x1;
  })));
}

nb::object draw_trajectory(const Coupling& coupling, const ArrayLike& x0, int num_steps,
                           const Seed& seed) {
  const StatesArgument given = states_of(coupling, "x0", x0);
  const std::uint64_t key = seed.draw();
  require_transitions(coupling, num_steps);  // before memory is taken
  return x0.answer(to_numpy(interruptible([&](const Context& context) {
    return sample_markov_trajectory(context, coupling, num_steps, given.view(), key, 0);
  })));
}

nb::object joint_probability(const Coupling& coupling, const ArrayLike& x0, const ArrayLike& x1) {
  const StatesArgument from = states_of(coupling, "x0", x0);
  const StatesArgument to = states_of(coupling, "x1", x1);
  check_same_rows(from, to);
  return x0.answer(to_numpy(interruptible([&](const Context& context) {
    std::vector<double> out(from.rows());
    coupling.log_conditional(context, from.view(), to.view(), out);
    return out;
  })));
}

nb::object marginals(const Coupling& coupling, const ArrayLike& x0) {
  const StatesArgument given = states_of(coupling, "x0", x0);
  return x0.answer(to_numpy(interruptible([&](const Context& context) {
    Array3<double> out;
    coupling.log_marginals(context, given.view(), out);
    return out;
  })));
}

nb::object transition_marginals(const Coupling& coupling, const ArrayLike& x, int num_steps,
                                const WholeNumber& n) {
  const StatesArgument given = states_of(coupling, "x", x);
  const int step = static_cast<int>(n.in_range("n", 0, static_cast<std::uint64_t>(num_steps) - 1));
  return x.answer(to_numpy(interruptible([&](const Context& context) {
    Array3<double> out;
    coupling.log_transition_marginals(context, num_steps, step, given.view(), out);
    return out;
  })));
}

}  // namespace bridgemark::python
