#include "bridgemark/solver/core/trained_solver.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace bridgemark {

namespace {

// Parameters may be finite and still no law.
std::shared_ptr<const Coupling> coupling_of(const TrainedModel& model, const std::string& name,
                                            std::int64_t updates) {
  try {
    return model.coupling();
  } catch (const InvalidArgument& error) {
    throw Diverged(fmt::format("[training] {} diverged by update {}: {}; lower learning_rate", name,
                               updates, error.what()));
  }
}

}  // namespace

Fitted TrainedSolver::fit(const Context& context, const FitProblem& problem,
                          const SolverOptions& given, std::uint64_t seed,
                          const TrainingFiles& files) const {
  SolverOptions options = given;
  resolve(options);
  check(problem, options);
  Context host = context;
  host.device = Device::kCpu;
  const std::unique_ptr<TrainedModel> model = make_model(context, host, problem, options, seed);
  TrainingSummary summary = run_training(context, training_plan(options), files, *model);
  return {coupling_of(*model, name(), summary.updates),
          {{"updates", summary.updates},
           {"resumed_from", summary.resumed_from},
           {"last_loss", summary.last_loss},
           {"training_seconds", summary.seconds}},
          std::move(summary.history)};
}

}  // namespace bridgemark
