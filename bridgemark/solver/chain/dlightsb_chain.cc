#include "bridgemark/solver/chain/dlightsb_chain.h"

#include <optional>
#include <utility>

#include "bridgemark/solver/chain/chain_model_file.h"
#include "bridgemark/solver/chain/chain_recipe.h"
#include "bridgemark/solver/chain/chain_starts.h"
#include "bridgemark/solver/core/training_memory.h"
#include "bridgemark/solver/cp/cp_model.h"
#include "bridgemark/solver/cp/held_out_model.h"
#include "bridgemark/solver/direction/direction_choice.h"
#include "bridgemark/solver/direction/source_density.h"

namespace bridgemark {

namespace {

class DLightSbChain : public TrainedSolver {
 public:
  std::string name() const override { return "dlightsb-chain"; }
  std::string description() const override {
    return "a bridge over a hidden chain along the coordinates that minimises KL(q* || q)";
  }
  std::vector<OptionSpec> options() const override { return chain_options(); }

  void check(const Context& context, const FitProblem& problem,
             const SolverOptions& options) const override {
    const CpRecipe recipe = read_chain_recipe(options).cp;
    const double D = static_cast<double>(problem.dim()), S = problem.num_categories(),
                 K = static_cast<double>(recipe.components),
                 B = static_cast<double>(recipe.batch_size);
    // Floats: parameters, two moments, gradients, and of the passes moves and emissions of two
    // sides; three messages of each row on either side.
    require_training_memory(name(), problem,
                            {{sizeof(float) * (7.0 * D * K * K + 8.0 * D * S * K), "states"},
                             {sizeof(float) * 6.0 * B * D * K, "batch_size"}});
    if (context.device != Device::kCpu) require_tables(name() + " on a device", problem);
    read_held_out_settings(options, problem.reference());
    check_direction(context, options);
    TrainingData(problem, options.text("x0_data"), options.text("x1_data"), 0);
  }

  bool has_both_directions() const override { return true; }

  void save(const Coupling& coupling, const std::filesystem::path& path) const override {
    save_chain_model(coupling, path);
  }
  std::shared_ptr<const Coupling> load(const Context& context, const FitProblem& problem,
                                       const std::filesystem::path& path) const override {
    return load_chain_model(context, problem, path);
  }

 protected:
  TrainingPlan training_plan(const SolverOptions& options) const override {
    const ChainRecipe recipe = read_chain_recipe(options);
    return {name(), recipe.cp.updates, recipe.cp.checkpoint_seconds, recipe.cp.log_every,
            recipe.cp.validate_every};
  }

  std::shared_ptr<const Coupling> completed(
      const Context& host, const FitProblem& problem, const SolverOptions& options,
      std::uint64_t seed, std::shared_ptr<const Coupling> trained) const override {
    return with_source_density(host, problem, options, seed, std::move(trained));
  }

  std::unique_ptr<TrainedModel> make_model(const Context& context, const Context& host,
                                           const FitProblem& problem, const SolverOptions& options,
                                           std::uint64_t seed) const override {
    return make_directed_model(
        context, problem, options,
        {read_chain_recipe(options).cp.updates, 0, seed,
         [context, host, seed](const FitProblem& ends, const SolverOptions& of_ends) {
           return make_one_way(context, host, ends, of_ends, seed);
         }});
  }

 private:
  static std::unique_ptr<PotentialModel> make_one_way(const Context& context, const Context& host,
                                                      const FitProblem& problem,
                                                      const SolverOptions& options,
                                                      std::uint64_t seed) {
    const ChainRecipe recipe = read_chain_recipe(options);
    const TrainingData data(problem, options.text("x0_data"), options.text("x1_data"), seed);
    const CpTask task{ReferenceChain(problem.reference(), 1), std::nullopt, seed, {}, {}};
    if (problem.data()) {
      return make_held_out_model(context, host, problem, task, recipe.cp,
                                 read_held_out_settings(options, problem.reference()),
                                 [host, recipe, dim = problem.dim(), S = problem.num_categories(),
                                  seed](const TrainingData& rows, std::size_t states) {
                                   ChainRecipe sized = recipe;
                                   sized.cp.components = states;
                                   return initial_chain_parameters(host, sized, rows, dim, S, seed);
                                 });
    }
    if (recipe.two_starts) {
      return make_chain_of_two_starts(context, host, problem, recipe, data, seed);
    }
    return make_cp_model(context, task, recipe.cp,
                         cp_trainer_plan(host, task, recipe.cp, data,
                                         initial_chain_parameters(host, recipe, data, problem.dim(),
                                                                  problem.num_categories(), seed)));
  }
};

}  // namespace

std::unique_ptr<Solver> make_dlightsb_chain() { return std::make_unique<DLightSbChain>(); }

}  // namespace bridgemark
