#include "bridgemark/solver/core/trained_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/solver/core/rank_agreement.h"
#include "bridgemark/solver/core/validation.h"

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

// The coupling, or, where ranks share it, its file and none. Parameters may be finite and still no
// law.
std::shared_ptr<const Coupling> finish(const Context& context, const TrainedModel& model,
                                       const std::string& name, std::int64_t updates,
                                       const std::filesystem::path& file) {
  try {
    if (context.rank_count() == 1) return model.coupling();
    model.save_shared(*context.ranks, file);
    return nullptr;
  } catch (const InvalidArgument& error) {
    throw Diverged(fmt::format("[training] {} diverged by update {}: {}; lower learning_rate", name,
                               updates, error.what()));
  }
}

}  // namespace

Diagnostics training_diagnostics(const TrainingSummary& summary, Diagnostics of_model) {
  Diagnostics all = {{"updates", summary.updates},
                     {"last_loss", summary.last_loss},
                     {"training_seconds", summary.seconds}};
  if (summary.resumed_from > 0) all["resumed_from"] = summary.resumed_from;
  const auto kept = of_model.find("updates");
  if (kept != of_model.end() && kept->second != all["updates"]) {
    all["updates_in_all"] = summary.updates;
    all["updates"] = kept->second;
  }
  all.merge(std::move(of_model));
  return all;
}

Fitted TrainedSolver::fit(const Context& context, const FitProblem& problem,
                          const SolverOptions& given, std::uint64_t seed,
                          const TrainingFiles& files) const {
  SolverOptions options = given;
  resolve(options);
  refuse_together(context, [&] {
    if (context.rank_count() > 1 && (!runs_on_ranks() || files.model.empty())) {
      throw_invalid("ranks", "{} must run on 1 rank{}, got {}", name(),
                    runs_on_ranks() ? " where no file is given for its model" : "",
                    context.rank_count());
    }
    problem.reference().require_device(context);
    refuse_validation(context, problem, files.watch.truth, training_plan(options).validate_every);
    check(context, problem, options);
  });
  Context host = context;
  host.device = Device::kCpu;
  const std::unique_ptr<TrainedModel> model =
      make_model(letting_updates_end(context), host, problem, options, seed);
  const std::uint64_t exchanged = context.ranks ? context.ranks->bytes_exchanged() : 0;
  TrainingPlan plan = training_plan(options);
  plan.updates = model->most_updates(plan.updates);
  if (plan.validate_every > 0) {
    plan.validate = make_validation(context, problem, files.watch.truth, *model);
  }
  TrainingSummary summary = run_training(context, plan, files, *model);
  Diagnostics diagnostics = training_diagnostics(summary, model->diagnostics());
  if (context.ranks) {
    const auto updates = static_cast<double>(summary.updates - summary.resumed_from);
    diagnostics["ranks"] = std::int64_t{context.ranks->count()};
    diagnostics["bytes_an_update"] =
        static_cast<double>(context.ranks->bytes_exchanged() - exchanged) / std::max(updates, 1.0);
  }
  auto trained = finish(context, *model, name(), summary.updates, files.model);
  return {completed(host, problem, options, seed, std::move(trained)), std::move(diagnostics),
          std::move(summary.history)};
}

void TrainedModel::save_shared(RankGroup& ranks, const std::filesystem::path&) const {
  throw_invalid("ranks", "this model must run on 1 rank, got {}", ranks.count());
}

}  // namespace bridgemark
