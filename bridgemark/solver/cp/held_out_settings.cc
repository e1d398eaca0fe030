#include "bridgemark/solver/cp/held_out_settings.h"

#include "bridgemark/core/error.h"

namespace bridgemark {

std::vector<OptionSpec> held_out_options() {
  std::vector<OptionSpec> specs = stopping_options("8");
  const std::vector<OptionSpec> finishing = {
      {.key = "shrinkage",
       .kind = RealRange{0.0, 1e6},
       .default_value = kAuto,
       .help = "how far the cores of data are drawn towards what they have in common, in units of "
               "their noise; auto: the best by the rows held out",
       .or_auto = true,
       .rows = RowKind::kThatEnd},
      {.key = "smoothing",
       .kind = RealRange{0.0, kMaxTotalSteps},
       .default_value = kAuto,
       .help = "steps of the reference, up to all of them, whole or not, that the cores of data "
               "are smoothed by; auto: the best by the rows held out",
       .or_auto = true,
       .rows = RowKind::kThatEnd}};
  specs.insert(specs.end() - 1, finishing.begin(), finishing.end());
  return specs;
}

HeldOutSettings read_held_out_settings(const SolverOptions& options,
                                       const ReferenceProcess& process) {
  HeldOutSettings settings{read_stopping_settings(options), {}, {}};
  if (!options.is_auto("shrinkage")) settings.shrinkage = options.real("shrinkage");
  if (!options.is_auto("smoothing")) {
    settings.smoothing = options.real("smoothing", process.total_steps());
  }
  return settings;
}

void refuse_holdout_on_ranks(const Context& context, const FitProblem& problem,
                             const SolverOptions& options) {
  if (context.ranks && problem.data() && options.real("holdout") > 0.0) {
    throw_invalid("options", "holdout must be 0 where ranks share a model, got '{}'",
                  options.text("holdout"));
  }
}

}  // namespace bridgemark
