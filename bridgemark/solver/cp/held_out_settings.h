#pragma once

#include <optional>
#include <vector>

#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/core/options.h"

// What a training that rows kept apart decide about is given (held_out_model.h).
namespace bridgemark {

struct HeldOutSettings : StoppingSettings {
  std::optional<double> shrinkage;  // strength; empty: found
  std::optional<double> smoothing;  // steps of the reference; empty: found
};

// The options behind HeldOutSettings, for solvers that have them.
std::vector<OptionSpec> held_out_options();
HeldOutSettings read_held_out_settings(const SolverOptions& options,
                                       const ReferenceProcess& process);

// Throws InvalidArgument where ranks that share a model are given data of which rows would be held
// out: they train on all of it alone.
void refuse_holdout_on_ranks(const Context& context, const FitProblem& problem,
                             const SolverOptions& options);

}  // namespace bridgemark
