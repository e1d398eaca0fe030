#include "cli/sample_run.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/bridge/label_couplings.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/run/labelled_run.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/table/table_run.h"
#include "cli/table.h"

namespace bridgemark::cli {

namespace {

std::shared_ptr<const Coupling> direction_of(const Context& context, const LoadedRun& run,
                                             bool reverse) {
  if (!reverse) return run.coupling;
  return reverse_coupling(context, trained_problem(context, run.config, run.problem), run.coupling);
}

int steps_of(const RunSample& request, const Coupling& coupling) {
  return request.num_steps.value_or(trajectory_steps(coupling, {}));
}

// Writes an int32 array and says so.
template <typename Drawn>
void write_drawn(const RunSample& request, const Drawn& drawn,
                 const std::vector<std::size_t>& shape) {
  save_npy(request.output, shape, std::span<const std::int32_t>(drawn.data(), drawn.size()));
  fmt::print("{}: {} of {} {}, int32 [{}]\n", request.output,
             request.trajectory ? "trajectories" : (request.reverse ? "x0" : "x1"), request.run,
             request.reverse ? "read backwards" : "given x0", fmt::join(shape, ", "));
}

void sample_labelled(const Context& context, const RunSample& request) {
  if (!is_labelled_run(request.run)) {
    throw_invalid("sample", "--condition goes with a run that was trained with it, got --run {}",
                  request.run);
  }
  const States given = load_states(request.given);
  const Labels labels = load_integers(request.condition);
  std::vector<LabelCoupling> couplings;
  for (const LabelledRun& each : load_labelled_run(context, request.run)) {
    couplings.push_back({each.label, direction_of(context, each.run, request.reverse)});
  }
  const LabelCouplings by_label(std::move(couplings));
  if (!request.trajectory) {
    const States drawn = by_label.sample(context, given, labels, request.seed);
    write_drawn(request, drawn, {given.rows(), by_label.dim()});
    return;
  }
  const int steps = steps_of(request, *by_label.couplings()[0].coupling);
  const Array3<std::int32_t> drawn =
      by_label.sample_trajectory(context, steps, given, labels, request.seed);
  write_drawn(request, drawn, {given.rows(), static_cast<std::size_t>(steps) + 1, by_label.dim()});
}

}  // namespace

void sample_run(const Context& context, const RunSample& request) {
  if (is_table_run(request.run)) return sample_table(context, request);
  if (!request.condition.empty()) return sample_labelled(context, request);
  const LoadedRun run = load_whole_run(context, request.run);
  const std::shared_ptr<const Coupling> coupling = direction_of(context, run, request.reverse);
  const States given = load_states(request.given);
  check_states(request.given, given, coupling->dim(), coupling->num_categories());
  if (request.trajectory) {
    const int steps = steps_of(request, *coupling);
    const Array3<std::int32_t> drawn =
        sample_markov_trajectory(context, *coupling, steps, given, request.seed, 0);
    write_drawn(request, drawn,
                {given.rows(), static_cast<std::size_t>(steps) + 1, coupling->dim()});
  } else {
    States drawn(given.rows(), coupling->dim());
    coupling->sample(context, given, {request.seed, DrawPurpose::kConditional}, 0, drawn);
    write_drawn(request, drawn, {given.rows(), coupling->dim()});
  }
}

}  // namespace bridgemark::cli
