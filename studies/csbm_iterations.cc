// What a training of CSBM is at after each D-IMF iteration, on first pairs of its recipe or of the
// truth.
//
//   csbm_iterations PAIR [--solver alpha-csbm] [--truth-pairs] [--set key=value ...]
//
// With pairs of the truth D-IMF has nothing left to find: what is missing after one iteration is
// the network's or its training's. Each iteration gives a line of JSON: the scores of the forward
// walk, the shape where the backward walk ends, and, of a pair whose potential has components,
// their shares in the truth's x1, in walks from x0 of the truth, and in walks from where the
// backward network leads from x1 of the truth, which is what the forward network is trained on.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/resources.h"
#include "bridgemark/core/version.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/metric/record/evaluation_json.h"
#include "bridgemark/metric/sample_scores.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/solver/core/diagnostics_json.h"
#include "bridgemark/solver/csbm/csbm_model.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {
namespace {

struct Request {
  std::string pair, solver = "csbm", device = "cpu";
  bool truth_pairs = false, last_alone = false, forward_alone = false, both_ways = false;
  std::vector<std::string> assignments;
  std::uint64_t seed = 0;
  std::size_t walks = 20000;
  EvaluationOptions evaluation = {.num_trajectories = 200, .conditional_samples = 100};
};

// The mean over rows of the probability that x1 is of each component of v.
std::vector<double> component_shares(const CpPotential& potential, StatesView x1) {
  const std::size_t K = potential.num_components();
  std::vector<double> shares(K, 0.0);
  for (std::size_t i = 0; i < x1.rows; ++i) {
    std::vector<double> log_weights = potential.log_beta();
    for (std::size_t d = 0; d < x1.cols; ++d) {
      const double* core = potential.log_cores().row(d, static_cast<std::size_t>(x1(i, d)));
      for (std::size_t k = 0; k < K; ++k) log_weights[k] += core[k];
    }
    const double total = log_sum(log_weights.data(), K);
    for (std::size_t k = 0; k < K; ++k) {
      shares[k] += std::exp(log_weights[k] - total) / static_cast<double>(x1.rows);
    }
  }
  return shares;
}

class Walks {
 public:
  Walks(const Request& request, const Context& context, const BenchmarkPair& pair)
      : context_(context), pair_(pair), seed_(request.seed), test_(pair.test_set({})) {
    rows_ = std::min(request.walks, test_.x0.rows());
  }

  // Where both walks of the coupling end.
  nlohmann::json ends_of(const Coupling& forward) const {
    const StatesView x0 = test_.x0.view().slice(0, rows_), x1 = test_.x1.view().slice(0, rows_);
    const States to_x1 = walk(forward, x0, 0), to_x0 = walk(*forward.reversed(), x1, 1),
                 there_and_back = walk(forward, to_x0, 2);
    nlohmann::json json = {{"backward_shape", shape(x0, to_x0)},
                           {"shape_from_drawn", shape(x1, there_and_back)}};
    const auto* bridge = dynamic_cast<const CpBridge*>(&pair_.bridge());
    if (bridge && !pair_.source_potential()) {
      const CpPotential& potential = bridge->potential();
      json["shares"] = {{"truth", component_shares(potential, x1)},
                        {"from_x0", component_shares(potential, to_x1)},
                        {"from_drawn", component_shares(potential, there_and_back)}};
    }
    return json;
  }

 private:
  States walk(const Coupling& coupling, StatesView from, std::uint64_t salt) const {
    States to(from.rows, from.cols);
    const DrawKey key{derive_seed(seed_, salt), DrawPurpose::kPrediction};
    coupling.sample(context_, from, key, 0, to);
    return to;
  }

  double shape(StatesView truth, StatesView drawn) const {
    return score_samples({}, truth, drawn, pair_.num_categories()).shape;
  }

  Context context_;
  const BenchmarkPair& pair_;
  std::uint64_t seed_;
  PairedStates test_;
  std::size_t rows_;
};

// The training's plan, on endless pairs of the truth where they are asked for: x1 is drawn from
// the very rows that are x0.
backend::NetworkTrainerPlan make_plan(const Context& host, const CsbmTask& task,
                                      const TwoWaySteps& steps, bool truth_pairs) {
  backend::NetworkTrainerPlan plan = network_trainer_plan(host, task, steps);
  if (truth_pairs) {
    plan.first_x1 = plan.x1;
    plan.first_x0 = plan.x1;
    plan.first_x0.step = nullptr;
  }
  return plan;
}

nlohmann::json scores_of(const Context& context, const BenchmarkPair& pair,
                         const Coupling& coupling, const EvaluationOptions& options) {
  nlohmann::json json = evaluation_json(evaluate(context, pair, coupling, options));
  for (const char* key : {"values", "blocks", "missing", "joint_kl_worst_rows",
                          "joint_kl_worst_share", "joint_kl_worst_values"}) {
    json.erase(key);
  }
  return json;
}

void run(const Request& request) {
  const Context host, context{.device = parse_device(request.device)};
  const BenchmarkPair pair = load_pair(request.pair);
  if (pair.reverse() || (request.truth_pairs && pair.source_potential())) {
    throw_invalid("csbm_iterations", "the pair must be forward and one-sided, got '{}'",
                  request.pair);
  }
  const Solver& solver = find_solver(request.solver);
  SolverOptions options(solver.options());
  for (const std::string& assignment : request.assignments) options.set_assignment(assignment);
  if (request.truth_pairs) options.set("initial", "independent");
  solver.resolve(options);
  solver.check(context, pair, options);
  const CsbmRecipe recipe =
      read_csbm_recipe(options, request.solver == "alpha-csbm" ? kAlphaCsbmVariant : kCsbmVariant);
  if (request.forward_alone && (recipe.both_directions || recipe.imf_iterations > 1)) {
    throw_invalid("csbm_iterations", "--forward-alone goes with csbm and imf_iterations=1");
  }
  const Clock::time_point started = Clock::now();
  const TrainingData data(pair, "", "", request.seed);
  const CsbmTask task{
      pair.reference(), pair.dim(),
      recipe,           data,
      request.seed,     FirstPairs(host, recipe.first_pairs, pair.reference(), data, request.seed)};
  const TwoWaySteps steps = make_two_way_steps(host, task.process, recipe.num_steps);
  CsbmModel model(
      recipe, steps,
      backend::of(context).make_trainer(context, make_plan(host, task, steps, request.truth_pairs)),
      make_walk_ends(context, host, task));
  const Walks walks(request, context, pair);
  double training_seconds = seconds_since(started);
  for (int iteration = 1; iteration <= recipe.imf_iterations; ++iteration) {
    const Clock::time_point began = Clock::now();
    const std::int64_t before = iteration == 1 ? 0 : recipe.last_update(iteration - 1);
    const std::int64_t last =
        request.forward_alone ? recipe.updates_first : recipe.last_update(iteration);
    std::vector<double> losses(static_cast<std::size_t>(last - before));
    model.updates(before + 1, losses);
    training_seconds += seconds_since(began);
    if (request.last_alone && iteration < recipe.imf_iterations) continue;
    const auto coupling = model.coupling();
    nlohmann::json json = scores_of(context, pair, *coupling, request.evaluation);
    if (request.both_ways) {
      json["reverse"] =
          scores_of(context, pair.reversed(), *coupling->reversed(), request.evaluation);
    }
    if (!request.forward_alone) json.update(walks.ends_of(*coupling));
    json.update({{"pair", request.pair},
                 {"solver", request.solver},
                 {"truth_pairs", request.truth_pairs},
                 {"forward_alone", request.forward_alone},
                 {"set", request.assignments},
                 {"options", options.values()},
                 {"seed", request.seed},
                 {"iteration", iteration},
                 {"train_seconds", training_seconds},
                 {"diagnostics", diagnostics_json(model.diagnostics())},
                 {"device", request.device},
                 {"machine", machine_description()},
                 {"version", kVersion}});
    std::puts(json.dump().c_str());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace bridgemark

int main(int argc, char** argv) {
  CLI::App app("What CSBM is at after each D-IMF iteration");
  bridgemark::Request request;
  app.add_option("pair", request.pair)->required();
  app.add_option("--solver", request.solver, "csbm or alpha-csbm")
      ->check(CLI::IsMember({"csbm", "alpha-csbm"}));
  app.add_flag("--truth-pairs", request.truth_pairs, "First pairs are those of the truth");
  app.add_flag("--forward-alone", request.forward_alone,
               "The forward network alone, of one iteration of csbm");
  app.add_flag("--last-alone", request.last_alone, "Scores after the last iteration alone");
  app.add_option("--set", request.assignments, "Options of the solver");
  app.add_option("--seed", request.seed, "Of the training");
  app.add_option("--device", request.device, "cpu or cuda");
  app.add_flag("--both-ways", request.both_ways,
               "Scores the backward network on the reversed pair");
  app.add_option("--conditional-samples", request.evaluation.conditional_samples,
                 "Draws for each conditional input");
  app.add_option("--walks", request.walks, "Test rows whose walks are looked at");
  app.add_option("--particles", request.evaluation.particles, "For each row of the joint KL");
  app.add_option("--max-seconds", request.evaluation.max_seconds, "For a joint KL");
  CLI11_PARSE(app, argc, argv);
  try {
    bridgemark::run(request);
  } catch (const bridgemark::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
