#include "cli/sample_run.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "bridgemark/core/states.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/run/run.h"

namespace bridgemark::cli {

void sample_run(const Context& context, const RunSample& request) {
  const LoadedRun run = load_whole_run(context, request.run);
  const std::shared_ptr<const Coupling> coupling =
      request.reverse ? reverse_coupling(context, trained_problem(context, run.config, run.problem),
                                         run.coupling)
                      : run.coupling;
  const States given = load_states(request.given);
  check_states(request.given, given, coupling->dim(), coupling->num_categories());
  std::vector<std::size_t> shape = {given.rows(), coupling->dim()};
  if (request.trajectory) {
    const int steps = request.num_steps.value_or(trajectory_steps(*coupling, {}));
    const Array3<std::int32_t> drawn =
        sample_markov_trajectory(context, *coupling, steps, given, request.seed, 0);
    shape = {given.rows(), static_cast<std::size_t>(steps) + 1, coupling->dim()};
    save_npy(request.output, shape, std::span<const std::int32_t>(drawn.data(), drawn.size()));
  } else {
    States drawn(given.rows(), coupling->dim());
    coupling->sample(context, given, {request.seed, DrawPurpose::kConditional}, 0, drawn);
    save_npy(request.output, shape, std::span<const std::int32_t>(drawn.data(), drawn.size()));
  }
  fmt::print("{}: {} of {} {}, int32 [{}]\n", request.output,
             request.trajectory ? "trajectories" : (request.reverse ? "x0" : "x1"), request.run,
             request.reverse ? "read backwards" : "given x0", fmt::join(shape, ", "));
}

}  // namespace bridgemark::cli
