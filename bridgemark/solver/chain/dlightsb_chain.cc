#include "bridgemark/solver/chain/dlightsb_chain.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "bridgemark/core/error.h"
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

// Of a chain along the coordinates, or of a tree over them.
class DLightSbHidden : public TrainedSolver {
 public:
  explicit DLightSbHidden(bool is_tree) : is_tree_(is_tree) {}

  std::string name() const override { return is_tree_ ? "dlightsb-tree" : "dlightsb-chain"; }
  std::string description() const override {
    return is_tree_
               ? "a bridge over a hidden tree above the coordinates that minimises KL(q* || q)"
               : "a bridge over a hidden chain along the coordinates that minimises KL(q* || q)";
  }
  std::vector<OptionSpec> options() const override {
    return is_tree_ ? tree_options() : chain_options();
  }

  void check(const Context& context, const FitProblem& problem,
             const SolverOptions& options) const override {
    if (is_tree_ && context.device != Device::kCpu) {
      throw DeviceError(fmt::format("[solver] device of {} must be cpu, got {}", name(),
                                    device_name(context.device)));
    }
    const CpRecipe recipe = read_recipe(options, problem.dim()).cp;
    const double D = static_cast<double>(problem.dim()), S = problem.num_categories(),
                 M = recipe.tree ? static_cast<double>(recipe.tree->num_nodes()) : D,
                 K = static_cast<double>(recipe.components),
                 B = static_cast<double>(recipe.batch_size);
    // Floats: parameters, two moments, gradients, and of the passes moves and emissions of two
    // sides; messages of each row on either side, of which a tree has five.
    require_training_memory(name(), problem,
                            {{sizeof(float) * (7.0 * M * K * K + 8.0 * D * S * K), "states"},
                             {sizeof(float) * (is_tree_ ? 10.0 : 6.0) * B * M * K, "batch_size"}});
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
         [this, context, host, seed](const FitProblem& ends, const SolverOptions& of_ends) {
           return make_one_way(context, host, ends, of_ends, seed);
         }});
  }

 private:
  ChainRecipe read_recipe(const SolverOptions& options, std::size_t dim) const {
    return is_tree_ ? read_tree_recipe(options, dim) : read_chain_recipe(options);
  }

  std::unique_ptr<PotentialModel> make_one_way(const Context& context, const Context& host,
                                               const FitProblem& problem,
                                               const SolverOptions& options,
                                               std::uint64_t seed) const {
    const ChainRecipe recipe = read_recipe(options, problem.dim());
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

  bool is_tree_;
};

}  // namespace

std::unique_ptr<Solver> make_dlightsb_chain() { return std::make_unique<DLightSbHidden>(false); }
std::unique_ptr<Solver> make_dlightsb_tree() { return std::make_unique<DLightSbHidden>(true); }

}  // namespace bridgemark
