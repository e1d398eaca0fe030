#include "bridgemark/solver/core/trained_solver.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace bridgemark {

namespace {

using Clock = std::chrono::steady_clock;

// What an update that is under way has left when an interrupt comes. One that ends in time is kept
// in a checkpoint, since the training loop then stops; any other is given up with the whole model,
// and the checkpoint before it stays.
constexpr std::chrono::milliseconds kTimeToEndAnUpdate{600};

Context letting_updates_end(const Context& context) {
  if (!context.interrupt) return context;
  Context training = context;
  training.interrupt = [interrupt = context.interrupt,
                        first_heard = std::make_shared<std::atomic<Clock::rep>>(0)] {
    if (!interrupt()) return false;
    const Clock::rep now = Clock::now().time_since_epoch().count();
    Clock::rep heard = 0;
    if (first_heard->compare_exchange_strong(heard, now)) return false;
    return Clock::duration(now - heard) >= kTimeToEndAnUpdate;
  };
  return training;
}

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
  const std::unique_ptr<TrainedModel> model =
      make_model(letting_updates_end(context), host, problem, options, seed);
  TrainingSummary summary = run_training(context, training_plan(options), files, *model);
  return {coupling_of(*model, name(), summary.updates),
          {{"updates", summary.updates},
           {"resumed_from", summary.resumed_from},
           {"last_loss", summary.last_loss},
           {"training_seconds", summary.seconds}},
          std::move(summary.history)};
}

}  // namespace bridgemark
