#include "bridgemark/solver/csbm/csbm.h"

#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/solver/csbm/csbm_model.h"

namespace bridgemark {

namespace {

class CsbmSolver : public TrainedSolver {
 public:
  CsbmSolver(std::string name, std::string description, CsbmVariant variant)
      : name_(std::move(name)), description_(std::move(description)), variant_(variant) {}

  std::string name() const override { return name_; }
  std::string description() const override { return description_; }
  std::vector<OptionSpec> options() const override { return csbm_options(variant_); }
  void resolve(SolverOptions& options) const override { resolve_csbm_recipe(options, variant_); }

  void check(const FitProblem& problem, const SolverOptions& options) const override {
    ReferenceChain(problem.reference(), read_csbm_recipe(options, variant_).num_steps);
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
    return {name_, recipe.updates(), recipe.checkpoint_seconds, recipe.log_every};
  }

  std::unique_ptr<TrainedModel> make_model(const Context& context, const Context& host,
                                           const FitProblem& problem, const SolverOptions& options,
                                           std::uint64_t seed) const override {
    const CsbmRecipe recipe = read_csbm_recipe(options, variant_);
    const TrainingData data(problem, options.text("x0_data"), options.text("x1_data"), seed);
    const CsbmTask task{problem.reference(),
                        problem.dim(),
                        recipe,
                        data,
                        seed,
                        FirstPairs(host, recipe.first_pairs, problem.reference(), data, seed)};
    TwoWaySteps steps = make_two_way_steps(host, task.process, recipe.num_steps);
    auto trainer = backend::make_trainer(context, network_trainer_plan(host, task, steps));
    return std::make_unique<CsbmModel>(recipe, std::move(steps), std::move(trainer));
  }

 private:
  std::string name_, description_;
  CsbmVariant variant_;
};

}  // namespace

std::unique_ptr<Solver> make_csbm() {
  return std::make_unique<CsbmSolver>("csbm",
                                      "networks that match bridges, one direction at a time",
                                      CsbmVariant{false, "128", "0.0001"});
}

std::unique_ptr<Solver> make_alpha_csbm() {
  return std::make_unique<CsbmSolver>("alpha-csbm",
                                      "networks that match bridges, both directions an update",
                                      CsbmVariant{true, "64", "0.001"});
}

}  // namespace bridgemark
