#include "python/bindings/couplings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "python/bindings/calls.h"
#include "python/bindings/device_arrays.h"
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

bool stays_on_gpu(const Coupling& coupling, const ArrayLike& x) {
  return coupling.takes_device_memory() && is_on_gpu(x);
}

GpuStates gpu_states_of(const Coupling& coupling, std::string_view name, const ArrayLike& x,
                        const GpuOf& gpu) {
  return {name, x, gpu, coupling.dim(), coupling.num_categories()};
}

nb::object draw_on_gpu(const Coupling& coupling, const ArrayLike& x0, const Seed& seed) {
  const GpuOf gpu(x0);
  const GpuStates given = gpu_states_of(coupling, "x0", x0, gpu);
  const std::size_t rows = given.rows(), D = coupling.dim();
  const DrawKey key{seed.draw(), DrawPurpose::kConditional};
  MadeArray<std::int32_t> x1 = gpu.make_states({rows, D});
  interruptible([&](const Context& context) {
    coupling.sample(gpu.on(context), given.view(), key, 0, {x1.data, rows, D, true});
    return 0;
  });
  return gpu.finish(std::move(x1));
}

// Steps side by side: states [num_steps+1, B, D] of the GPU, seen as [B, num_steps+1, D].
nb::object draw_trajectory_on_gpu(const Coupling& coupling, const ArrayLike& x0, int num_steps,
                                  const Seed& seed) {
  const GpuOf gpu(x0);
  const GpuStates given = gpu_states_of(coupling, "x0", x0, gpu);
  const std::size_t rows = given.rows(), D = coupling.dim();
  const auto steps = static_cast<std::size_t>(num_steps);
  const std::uint64_t key = seed.draw();
  MadeArray<std::int32_t> states = gpu.make_states({steps + 1, rows, D});
  const auto at = [&](std::size_t n) {
    return MutableStatesView{states.data + n * rows * D, rows, D, true};
  };
  interruptible([&](const Context& context) {
    const Context there = gpu.on(context);
    backend::of(there).copy_memory(there, given.view().data, at(0).data,
                                   given.view().size() * sizeof(std::int32_t));
    for (std::size_t n = 0; n < steps; ++n) {
      coupling.sample_transition(there, num_steps, static_cast<int>(n), at(n),
                                 {key, DrawPurpose::kTransition, static_cast<std::uint32_t>(n)}, 0,
                                 at(n + 1));
      context.report("trajectories", n + 1, steps);
    }
    return 0;
  });
  return nb::module_::import_("bridgemark._arrays")
      .attr("steps_last")(gpu.finish(std::move(states)));
}

nb::object joint_on_gpu(const Coupling& coupling, const ArrayLike& x0, const ArrayLike& x1) {
  const GpuOf gpu(x0);
  const GpuStates from = gpu_states_of(coupling, "x0", x0, gpu);
  const GpuStates to = gpu_states_of(coupling, "x1", x1, gpu);
  check_same_rows(from.rows(), to.rows());
  MadeArray<double> out = gpu.make_doubles({from.rows()});
  interruptible([&](const Context& context) {
    coupling.log_conditional(gpu.on(context), from.view(), to.view(), {out.data, from.rows()});
    return 0;
  });
  return gpu.finish(std::move(out));
}

// write(context, states, out): [B, D*S], in the memory where the states lie.
template <typename Write>
nb::object marginals_of(const Coupling& coupling, std::string_view name, const ArrayLike& x,
                        Write&& write) {
  const std::size_t D = coupling.dim(), S = static_cast<std::size_t>(coupling.num_categories());
  if (stays_on_gpu(coupling, x)) {
    const GpuOf gpu(x);
    const GpuStates given = gpu_states_of(coupling, name, x, gpu);
    MadeArray<double> out = gpu.make_doubles({given.rows(), D, S});
    interruptible([&](const Context& context) {
      write(gpu.on(context), given.view(), {out.data, given.rows(), D * S, true});
      return 0;
    });
    return gpu.finish(std::move(out));
  }
  const StatesArgument given = states_of(coupling, name, x);
  UnwrittenValues<double> out(given.rows() * D * S);
  interruptible([&](const Context& context) {
    write(context, given.view(), {out.data(), given.rows(), D * S});
    return 0;
  });
  return x.answer(own<double>(std::move(out), {given.rows(), D, S}));
}

}  // namespace

nb::object draw(const Coupling& coupling, const ArrayLike& x0, const Seed& seed) {
  if (stays_on_gpu(coupling, x0)) return draw_on_gpu(coupling, x0, seed);
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
  if (stays_on_gpu(coupling, x0) && coupling.has_transitions(num_steps)) {
    return draw_trajectory_on_gpu(coupling, x0, num_steps, seed);
  }
  const StatesArgument given = states_of(coupling, "x0", x0);
  const std::uint64_t key = seed.draw();
  require_transitions(coupling, num_steps);  // before memory is taken
  return x0.answer(to_numpy(interruptible([&](const Context& context) {
    return sample_markov_trajectory(context, coupling, num_steps, given.view(), key, 0);
  })));
}

nb::object joint_probability(const Coupling& coupling, const ArrayLike& x0, const ArrayLike& x1) {
  if (stays_on_gpu(coupling, x0) && is_on_gpu(x1)) return joint_on_gpu(coupling, x0, x1);
  const StatesArgument from = states_of(coupling, "x0", x0);
  const StatesArgument to = states_of(coupling, "x1", x1);
  check_same_rows(from.rows(), to.rows());
  return x0.answer(to_numpy(interruptible([&](const Context& context) {
    std::vector<double> out(from.rows());
    coupling.log_conditional(context, from.view(), to.view(), out);
    return out;
  })));
}

nb::object marginals(const Coupling& coupling, const ArrayLike& x0) {
  return marginals_of(coupling, "x0", x0,
                      [&](const Context& context, StatesView x, MatrixView<double> out) {
                        coupling.write_log_marginals(context, x, out);
                      });
}

nb::object transition_marginals(const Coupling& coupling, const ArrayLike& x, int num_steps,
                                const WholeNumber& n) {
  const int step = static_cast<int>(n.in_range("n", 0, static_cast<std::uint64_t>(num_steps) - 1));
  return marginals_of(
      coupling, "x", x, [&](const Context& context, StatesView given, MatrixView<double> out) {
        coupling.write_log_transition_marginals(context, num_steps, step, given, out);
      });
}

}  // namespace bridgemark::python
