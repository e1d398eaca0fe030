#include "bridgemark/solver/csbm/csbm.h"

#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/solver/core/training_memory.h"
#include "bridgemark/solver/csbm/csbm_model.h"
#include "bridgemark/solver/csbm/held_out_csbm.h"
#include "bridgemark/solver/csbm/network_ladder.h"

namespace bridgemark {

namespace {

class CsbmSolver : public TrainedSolver {
 public:
  CsbmSolver(std::string name, std::string description, CsbmVariant variant)
      : name_(std::move(name)), description_(std::move(description)), variant_(variant) {}

  std::string name() const override { return name_; }
  std::string description() const override { return description_; }
  std::vector<OptionSpec> options() const override { return csbm_options(variant_); }
  bool has_both_directions() const override { return true; }

  void check(const Context&, const FitProblem& problem,
             const SolverOptions& options) const override {
    const CsbmRecipe recipe = read_csbm_recipe(options, variant_);
    require_tables(name_, problem);
    ReferenceChain(problem.reference(), recipe.num_steps);
    read_stopping_settings(options);
    require_csbm_memory(problem, problem.data() ? NetworkLadder::largest(recipe) : recipe);
    TrainingData(problem, options.text("x0_data"), options.text("x1_data"), 0);
  }

  void save(const Coupling& coupling, const std::filesystem::path& path) const override {
    save_network_bridge(dynamic_cast<const NetworkBridge&>(coupling), path);
  }
  std::shared_ptr<const Coupling> load(const Context& context, const FitProblem& problem,
                                       const std::filesystem::path& path) const override {
    return load_network_bridge(context, problem.reference(), problem.dim(), path);
  }

 protected:
  TrainingPlan training_plan(const SolverOptions& options) const override {
    const CsbmRecipe recipe = read_csbm_recipe(options, variant_);
    return {name_, recipe.updates(), recipe.checkpoint_seconds, recipe.log_every,
            recipe.validate_every};
  }

  std::unique_ptr<TrainedModel> make_model(const Context& context, const Context& host,
                                           const FitProblem& problem, const SolverOptions& options,
                                           std::uint64_t seed) const override {
    const CsbmRecipe recipe = read_csbm_recipe(options, variant_);
    const StoppingSettings stopping = read_stopping_settings(options);
    if (!split_holdout(problem, stopping.holdout).empty()) {
      return make_held_out_csbm(context, host, problem, recipe, stopping, seed);
    }
    const TrainingData data(problem, options.text("x0_data"), options.text("x1_data"), seed);
    const CsbmTask task{problem.reference(),
                        problem.dim(),
                        recipe,
                        data,
                        seed,
                        FirstPairs(host, recipe.first_pairs, problem.reference(), data, seed)};
    TwoWaySteps steps = make_two_way_steps(host, task.process, recipe.num_steps);
    auto trainer =
        backend::of(context).make_trainer(context, network_trainer_plan(host, task, steps));
    return std::make_unique<CsbmModel>(recipe, std::move(steps), std::move(trainer),
                                       make_walk_ends(context, host, task));
  }

 private:
  void require_csbm_memory(const FitProblem& problem, const CsbmRecipe& recipe) const {
    // Of either network: parameters, average, two moments and a gradient, the start, what a
    // checkpoint is written from, and the weights as the kernels want them.
    // Rows that end have the best of a stage beside them, and the best network tried; a training
    // that looks for drift has what it goes back to.
    const double arrays = 2.0 * (problem.data() ? 19.0 : recipe.keeps_ends ? 15.0 : 11.0);
    const backend::NetworkShape shape =
        network_shape(problem.dim(), problem.num_categories(), recipe);
    double row = static_cast<double>(shape.input_width());  // activations and their gradients
    for (std::size_t l = 0; l < shape.num_layers(); ++l) {
      row += static_cast<double>(shape.layer_inputs(l) + shape.layer_outputs(l));
    }
    const double rows = static_cast<double>(recipe.batch_size * recipe.points),
                 D = static_cast<double>(problem.dim()),
                 pairs = static_cast<double>(recipe.first_pairs.pairs),
                 matched = static_cast<double>(recipe.first_pairs.batch);
    const bool made = recipe.first_pairs.coupling != FirstCoupling::kIndependent,
               assigned = recipe.first_pairs.coupling == FirstCoupling::kMinibatchOt;
    require_training_memory(
        name_, problem,
        {{arrays * sizeof(float) * static_cast<double>(shape.num_parameters()), "hidden"},
         {sizeof(float) * rows * row, "batch_size"},
         {2.0 * matching_tables_bytes(problem, recipe.num_steps), "num_steps"},
         {made ? 4.0 * sizeof(std::int32_t) * pairs * D : 0.0, "initial_pairs"},
         {assigned ? Context{}.threads() * sizeof(double) * matched * matched : 0.0,
          "initial_batch"}});
  }

  std::string name_, description_;
  CsbmVariant variant_;
};

}  // namespace

std::unique_ptr<Solver> make_csbm() {
  return std::make_unique<CsbmSolver>(
      "csbm", "networks that match bridges, one direction at a time", kCsbmVariant);
}

std::unique_ptr<Solver> make_alpha_csbm() {
  return std::make_unique<CsbmSolver>(
      "alpha-csbm", "networks that match bridges, both directions an update", kAlphaCsbmVariant);
}

}  // namespace bridgemark
