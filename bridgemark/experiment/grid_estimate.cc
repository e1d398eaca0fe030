#include "bridgemark/experiment/grid_estimate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/experiment/make_run.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/program/child_process.h"
#include "bridgemark/metric/record/evaluation_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/outside/python_solvers.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {

namespace {

constexpr double kFirstUpdates = 8.0;  // of the longest part of a training
constexpr double kLongEnough = 1.0;    // seconds of updates that say how the rest will go

// The most updates of one kind that the run's training makes; 0 where it does not train.
double most_updates(const SolverOptions& options) {
  double most = 0.0;
  for (const OptionSpec& spec : options.specs()) {
    if (spec.counts_updates) {
      most = std::max<double>(most, options.integer(spec.key));
    }
  }
  return most;
}

// The options of a training with a share of the updates, at least one of each kind.
SolverOptions shortened(SolverOptions options, double share) {
  for (const OptionSpec& spec : std::vector<OptionSpec>(options.specs())) {
    if (!spec.counts_updates || (spec.use && !spec.use->is_used(options))) continue;
    const double all = options.integer(spec.key);
    options.set(spec.key, std::to_string(std::max(1L, std::lround(share * all))));
  }
  return options;
}

// A training of a share of the updates: seconds that do not depend on the share, and of updates.
struct ShortTraining {
  double share = 0.0;
  double around = 0.0;
  double updates = 0.0;
};

ShortTraining time_training(const Context& context, const ExperimentRun& run,
                            const FitProblem& problem, const SolverOptions& all, double share,
                            Fitted& fitted) {
  const SolverOptions options = shortened(all, share);
  const auto start = Clock::now();
  fitted = find_solver(run.config.solver).fit(context, problem, options, run.config.seed);
  const double seconds = seconds_since(start);
  const auto said = fitted.diagnostics.find("training_seconds");
  const double updates = said == fitted.diagnostics.end() ? 0.0 : std::get<double>(said->second);
  return {share, seconds - updates, updates};
}

double estimate_training(const Context& context, const ExperimentRun& run,
                         const FitProblem& problem, Fitted& fitted) {
  SolverOptions all(find_solver(run.config.solver).options());
  for (const auto& [key, value] : run.config.options) all.set(key, value);
  const double most = most_updates(all);
  const auto train = [&](double share) {
    return time_training(context, run, problem, all, share, fitted);
  };
  ShortTraining last = train(most > kFirstUpdates ? kFirstUpdates / most : 1.0), before;
  while (last.share < 1.0 && (before.share == 0.0 || last.updates < kLongEnough)) {
    before = last;
    const double longer = std::clamp(1.2 * kLongEnough / last.updates, 2.0, 64.0);
    last = train(std::min(1.0, longer * last.share));
  }
  if (last.share == 1.0) return last.around + last.updates;
  const double slope = std::max(0.0, last.updates - before.updates) / (last.share - before.share);
  return last.around + last.updates + slope * (1.0 - last.share);
}

// One repetition of the protocol, as often as the run asks for. The particles of a joint KL are
// drawn once for all of them, here on the fewest rows.
double estimate_evaluation(const Context& context, const ExperimentRun& run,
                           const BenchmarkPair& pair, const Coupling& coupling) {
  const auto seconds_of = [&](const EvaluationOptions& options) {
    const auto start = Clock::now();
    evaluate_and_record(context, pair, coupling, options);
    return seconds_since(start);
  };
  EvaluationOptions once = run.evaluation;
  once.num_seeds = 1;
  once.particles = 0;
  const double without = seconds_of(once), all = without * run.evaluation.num_seeds;
  const int steps = trajectory_steps(coupling, once.num_steps);
  if (run.evaluation.particles == 0 || coupling.has_joint() ||
      !coupling.has_joint_transitions(steps)) {
    return all;
  }
  once.particles = run.evaluation.particles;
  once.max_seconds = 0.0;
  constexpr double kPasses = static_cast<double>(kParticleRows) / kFewestParticleRows;
  const double particles = kPasses * std::max(0.0, seconds_of(once) - without);
  return all + std::min(particles, run.evaluation.max_seconds);
}

// The same by a process of Python.
RunEstimate estimate_in_python(const Context& context, const ExperimentRun& run) {
  const ProgramAnswer answer = ask_python(
      {kEstimateRunCommand, run_text(run), "--threads", std::to_string(context.threads()),
       "--device", std::string(device_name(context.device))},
      context.stop);
  if (answer.status != 0) {
    throw_invalid("run", "{} cannot be estimated: it {}{}", run.id, status_text(answer.status),
                  answer.complaint.empty() ? "" : ": " + answer.complaint);
  }
  const std::string where = "the estimate of " + run.id;
  const nlohmann::json seconds = parse_json(answer.out, where);
  return {json_get<double>(seconds, "train", where), json_get<double>(seconds, "evaluate", where)};
}

}  // namespace

std::vector<RunGroup> group_runs(const std::vector<ExperimentRun>& runs) {
  std::vector<RunGroup> groups;
  using Key = std::tuple<std::string, int, bool, std::map<std::string, std::string, std::less<>>,
                         std::size_t>;
  std::map<Key, std::size_t> places;
  for (const ExperimentRun& run : runs) {
    const Key key{run.config.solver, run.dim, run.both_directions, run.config.options,
                  run.config.rows.samples};
    const auto [at, is_new] = places.try_emplace(key, groups.size());
    if (is_new) groups.push_back({&run});
    ++groups[at->second].runs;
  }
  return groups;
}

RunEstimate estimate_run(const Context& context, const ExperimentRun& run) {
  const OutsideSolver* outside = find_outside_solver(run.config.solver);
  if (outside && !outside->runs_here()) return estimate_in_python(context, run);
  const BenchmarkPair pair = load_pair(run.config.pair);
  Fitted fitted;
  RunEstimate estimate;
  const FitProblem problem = trained_problem(context, run.config, pair);
  estimate.train = estimate_training(context, run, problem, fitted);
  estimate.evaluate = estimate_evaluation(context, run, pair, *fitted.coupling);
  if (run.both_directions) {
    estimate.evaluate += estimate_evaluation(context, run, pair.reversed(),
                                             *reverse_coupling(context, problem, fitted.coupling));
  }
  return estimate;
}

}  // namespace bridgemark
