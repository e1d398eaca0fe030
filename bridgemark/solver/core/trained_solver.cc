#include "bridgemark/solver/core/trained_solver.h"

namespace bridgemark {

Fitted TrainedSolver::fit(const Context& context, const BenchmarkPair& pair,
                          const SolverOptions& given, std::uint64_t seed,
                          const TrainingFiles& files) const {
  SolverOptions options = given;
  resolve(options);
  check(pair, options);
  Context host = context;
  host.device = Device::kCpu;
  const std::unique_ptr<TrainedModel> model = make_model(context, host, pair, options, seed);
  const TrainingSummary summary = run_training(context, training_plan(options), files, *model);
  return {model->coupling(),
          {{"updates", summary.updates},
           {"resumed_from", summary.resumed_from},
           {"last_loss", summary.last_loss},
           {"training_seconds", summary.seconds}}};
}

}  // namespace bridgemark
