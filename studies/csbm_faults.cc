// What two faults of the published code do to CSBM, each planted in networks that otherwise train
// and are scored as always.
//
// --epsilon E: the code takes the logarithm of one_hot(x1) + 1e-7 before it goes through the
// reference, so that its pinned steps are
//   q(s | x, c) ~ Q_1[x,s] (Q_{r-1}[s,c] + epsilon)
// where r steps are left to the end c: where c is out of the reference's reach, a plain step of the
// reference.
//
// --skip-last: the code sets the state one step before an end to that end, so that the networks
// learn the identity as their last step.
//
//   csbm_faults PAIR [--epsilon 1e-7] [--skip-last] [--set key=value ...] [--seed N]
//
// needs a CUDA device and prints one line of JSON.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/metric/record/evaluation_json.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/solver/csbm/csbm_model.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {
namespace {

double add_epsilon(double log_value, double epsilon) {
  return std::log(std::exp(log_value) + epsilon);
}

// Tables with epsilon added to every power but the first, which stays the step itself. With two
// steps left a target out of reach then only loses weight.
backend::PinnedSteps with_epsilon(backend::ChainTables<float> chain, double epsilon) {
  const std::size_t square = chain.num_categories * chain.num_categories;
  for (std::size_t i = 2 * square; i < chain.log.size(); ++i) {
    chain.log[i] = add_epsilon(chain.log[i], epsilon);
    chain.linear[i] = static_cast<float>(std::exp(chain.log[i]));
  }
  return make_pinned_steps({}, std::move(chain));
}

// The same in the factor towards the end of a pinned state.
backend::ScaledRows with_epsilon(const backend::ScaledRows& rows, double epsilon) {
  Matrix<double> log = rows.log;
  for (std::size_t i = 0; i < log.size(); ++i) {
    log.data()[i] = add_epsilon(log.data()[i], epsilon);
  }
  return backend::scale_rows(log);
}

// Rows that pin a state to the category they belong to.
backend::ScaledRows identity_rows(std::size_t S) {
  Matrix<double> log(S, S, kLogZero);
  for (std::size_t s = 0; s < S; ++s) log(s, s) = 0.0;
  return backend::scale_rows(log);
}

struct Faults {
  double epsilon = 0.0;
  bool skip_last = false;
};

nlohmann::json run(const std::string& name, const Faults& faults,
                   const std::vector<std::string>& assignments, std::uint64_t seed) {
  const double epsilon = faults.epsilon;
  const Context host, device{.device = Device::kCuda};
  const BenchmarkPair pair = load_pair(name);
  const Solver& solver = find_solver("csbm");
  SolverOptions options(solver.options());
  options.set("recipe", "paper");
  for (const std::string& assignment : assignments) options.set_assignment(assignment);
  solver.resolve(options);
  const CsbmRecipe recipe = read_csbm_recipe(options, kCsbmVariant);
  const TrainingData data(pair, "", "", seed);
  const CsbmTask task{pair.reference(),
                      pair.dim(),
                      recipe,
                      data,
                      seed,
                      FirstPairs(host, recipe.first_pairs, pair.reference(), data, seed)};

  TwoWaySteps steps = make_two_way_steps(host, task.process, recipe.num_steps);
  if (epsilon > 0.0) {
    const auto changed = std::make_shared<const backend::PinnedSteps>(
        with_epsilon(steps.towards_x1->chain, epsilon));
    steps = {changed, changed};
  }
  backend::NetworkTrainerPlan plan = network_trainer_plan(host, task, steps);
  if (epsilon > 0.0) {
    // At num_steps the state is the end itself.
    for (int n = 0; n < recipe.num_steps; ++n) {
      auto& after = plan.pinned.after[static_cast<std::size_t>(n)];
      after = with_epsilon(after, epsilon);
    }
  }
  if (faults.skip_last) {
    const auto S = static_cast<std::size_t>(pair.num_categories());
    plan.pinned.before[1] = identity_rows(S);
    plan.pinned.after[static_cast<std::size_t>(recipe.num_steps) - 1] = identity_rows(S);
  }
  CsbmModel model(recipe, steps, backend::of(device).make_trainer(device, std::move(plan)));
  std::vector<double> losses(static_cast<std::size_t>(recipe.updates()));
  model.updates(1, losses);
  nlohmann::json json = evaluation_json(evaluate(device, pair, *model.coupling(), {}));
  json.erase("values");
  json["pair"] = name;
  json["epsilon"] = epsilon;
  json["skip_last"] = faults.skip_last;
  json["options"] = options.values();
  json["seed"] = seed;
  json["last_loss"] = losses.back();
  return json;
}

}  // namespace
}  // namespace bridgemark

int main(int argc, char** argv) {
  CLI::App app("CSBM with faults of the published code");
  std::string pair;
  bridgemark::Faults faults;
  std::vector<std::string> assignments;
  std::uint64_t seed = 0;
  app.add_option("pair", pair)->required();
  app.add_option("--epsilon", faults.epsilon, "Added to the probabilities of pinned steps");
  app.add_flag("--skip-last", faults.skip_last, "One step before an end is that end");
  app.add_option("--set", assignments);
  app.add_option("--seed", seed);
  CLI11_PARSE(app, argc, argv);
  try {
    std::puts(bridgemark::run(pair, faults, assignments, seed).dump().c_str());
  } catch (const bridgemark::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
