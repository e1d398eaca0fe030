#include "bridgemark/solver/run/distill.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/bridge/tree_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/fingerprint.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/training_set.h"
#include "bridgemark/pair/two_way_bridge.h"
#include "bridgemark/solver/core/diagnostics_json.h"
#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/direction/source_density.h"

namespace bridgemark {

namespace {

using nlohmann::json;

[[noreturn]] void refuse_solver(const LoadedRun& run) {
  throw_invalid("distill",
                "the run must be of a solver that fits a potential and a law of x0, as dlightsb, "
                "dlightsb-m, dlightsb-chain or dlightsb-tree, got {}",
                run.config.solver);
}

// The bridge from x0 to x1 that was fitted.
std::shared_ptr<const Bridge> fitted_bridge(const LoadedRun& run) {
  if (const auto bridge = std::dynamic_pointer_cast<const Bridge>(run.coupling)) return bridge;
  if (const auto* both = dynamic_cast<const TwoWayBridge*>(run.coupling.get())) {
    if (!both->parts().turned_forward) return both->parts().along;
    throw_invalid("distill",
                  "the run must answer x1 given x0 by a bridge that starts at x0, got one that "
                  "direction={} turned round; train with direction=forward, or the reversed ends",
                  run.config.options.at("direction"));
  }
  refuse_solver(run);
}

// A pair draws p0 from a mixture. Where the run has a hidden chain in its place, the rows that it
// was trained on choose a mixture.
SourceLaw law_of_pair(const LoadedRun& run, const SourceLaw& fitted) {
  if (fitted.mixture() != nullptr) return fitted;
  const BenchmarkPair* pair = run.problem.pair();
  const FitProblem problem = pair ? training_problem({}, *pair, run.config.rows) : run.problem;
  const auto& options = run.config.options;
  const TrainingData data(problem, options.at("x0_data"), options.at("x1_data"), run.config.seed);
  return fit_source_density({}, data, problem.reference(), problem.dim(), SourceForm::kMixture);
}

// The same bridge as a truth, which is no chain of so many steps, with this law of x0.
std::shared_ptr<const Bridge> as_truth(const Bridge& fitted, SourceLaw source) {
  std::vector<double> log_weights(fitted.log_weights().begin(), fitted.log_weights().end());
  if (const TreeShape* const tree = fitted.tree()) {
    return TreeBridge(fitted.process(), TreePotential(*tree, std::move(log_weights),
                                                      fitted.log_moves(), fitted.log_cores()))
        .with_source(std::move(source));
  }
  if (fitted.log_moves().size() > 0) {
    return ChainBridge(fitted.process(), ChainPotential(std::move(log_weights), fitted.log_moves(),
                                                        fitted.log_cores()))
        .with_source(std::move(source));
  }
  return CpBridge(fitted.process(), {std::move(log_weights), fitted.log_cores()})
      .with_source(std::move(source));
}

// Why rows held out speak against the training; nothing where they do not, or draws were endless.
std::optional<std::string> held_against(const LoadedRun& run, const json& diagnostics) {
  if (!run.problem.data() && run.config.rows.samples == 0) return std::nullopt;
  if (!diagnostics.contains("held_out")) {
    return "was trained on all rows, and none held out has judged it";
  }
  if (diagnostics.contains("warning")) return diagnostics["warning"].get<std::string>();
  const double value = diagnostics["held_out"].get<double>(),
               error = diagnostics["held_out_error"].get<double>();
  if (value > 2.0 * error) return std::nullopt;
  return fmt::format(
      "is no nearer to the bridge than the reference, {:.3g} +- {:.2g} nats by rows held out",
      value, error);
}

json origin_of(const LoadedRun& run, const SourceLaw& fitted, const json& diagnostics,
               const DistillRequest& request) {
  json trained_on;
  if (const BenchmarkPair* pair = run.problem.pair()) {
    trained_on = pair_record(*pair);
    add_training_rows(trained_on, run.config.rows);
  } else {
    const DataEnds& data = *run.problem.data();
    const auto digest = [](const States& rows) {
      Fingerprint fingerprint;
      fingerprint.add(std::span<const std::int32_t>(rows.data(), rows.size()));
      return fingerprint.text();
    };
    trained_on = {
        {"data", request.data_name.empty() ? data.name : request.data_name},
        {"x0_rows", data.x0.states().rows()},
        {"x0_fingerprint", digest(data.x0.states())},
        {"x1_rows", data.x1.states().rows()},
        {"x1_fingerprint", digest(data.x1.states())},
    };
  }
  json judged = json::object();
  for (const char* key : {"held_out", "held_out_error", "held_out_rows", "training_objective"}) {
    if (diagnostics.contains(key)) judged[key] = diagnostics[key];
  }
  json origin = {{"solver", run.config.solver}, {"options", run.config.options},
                 {"seed", run.config.seed},     {"run_identity", run.config.identity},
                 {"trained_on", trained_on},    {"judged", judged},
                 {"version", kVersion}};
  if (fitted.chain() != nullptr) {
    origin["law_of_x0"] = "a mixture fitted to the same rows, in place of the run's hidden chain";
  }
  return origin;
}

}  // namespace

BenchmarkPair distill(const LoadedRun& run, const Diagnostics& diagnostics,
                      const DistillRequest& request) {
  if (request.name.empty()) throw_invalid("distill", "name must not be empty");
  if (!request.data_name.empty() && run.problem.pair()) {
    throw_invalid("distill", "data_name goes with a run on own data, got '{}' and one on pair '{}'",
                  request.data_name, run.problem.name());
  }
  const std::shared_ptr<const Bridge> fitted = fitted_bridge(run);
  if (fitted->source() == nullptr) {
    const auto source = run.config.options.find("source");
    if (source == run.config.options.end()) refuse_solver(run);
    throw_invalid("distill",
                  "the run must have fitted a law of x0, which becomes p0, got source={}; train "
                  "with source=mixture",
                  source->second);
  }
  const json said = diagnostics_json(diagnostics);
  if (const auto against = held_against(run, said); against && !request.accept_overfitted) {
    throw_invalid("distill",
                  "the run must be one that rows held out speak for, got one that {}; "
                  "accept_overfitted takes it all the same",
                  *against);
  }
  PairIdentity identity;
  identity.name = request.name;
  identity.seed = request.seed;
  identity.family = PairFamily::kDistilled;
  identity.origin = origin_of(run, *fitted->source(), said, request).dump();
  return BenchmarkPair::of_bridge(std::move(identity),
                                  as_truth(*fitted, law_of_pair(run, *fitted->source())));
}

}  // namespace bridgemark
