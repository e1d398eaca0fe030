#include "bridgemark/solver/core/trained_solver.h"

namespace bridgemark {

Fitted TrainedSolver::fit(const Context& context, const FitProblem& problem,
                          const SolverOptions& given, std::uint64_t seed,
                          const TrainingFiles& files) const {
  SolverOptions options = given;
  resolve(options);
  check(problem, options);
  Context host = context;
  host.device = Device::kCpu;
  const std::unique_ptr<TrainedModel> model = make_model(context, host, problem, options, seed);
  const TrainingSummary summary = run_training(context, training_plan(options), files, *model);
  return {model->coupling(),
          {{"updates", summary.updates},
           {"resumed_from", summary.resumed_from},
           {"last_loss", summary.last_loss},
           {"training_seconds", summary.seconds}}};
}

}  // namespace bridgemark
