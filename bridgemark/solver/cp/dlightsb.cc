#include "bridgemark/solver/cp/dlightsb.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/backend/ranks/component_share.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/rank_group.h"
#include "bridgemark/math/row_coupling.h"
#include "bridgemark/solver/core/shared_options.h"
#include "bridgemark/solver/core/training_memory.h"
#include "bridgemark/solver/cp/cp_model.h"
#include "bridgemark/solver/cp/cp_model_file.h"
#include "bridgemark/solver/cp/cp_recipe.h"
#include "bridgemark/solver/cp/held_out_model.h"
#include "bridgemark/solver/direction/direction_choice.h"
#include "bridgemark/solver/direction/source_density.h"

namespace bridgemark {

namespace {

// What both solvers share: recipe, start and files.
class CpSolver : public TrainedSolver {
 public:
  std::vector<OptionSpec> options() const override { return cp_options(); }

  void check(const Context& context, const FitProblem& problem,
             const SolverOptions& options) const override {
    const CpRecipe recipe = read_cp_recipe(options);
    const double on_machine = context.ranks ? context.ranks->count_on_machine() : 1;
    const double components =
        on_machine *
        static_cast<double>(backend::component_share(context, recipe.components).count);
    // Parameters, two moments, the average, gradients and three that the propagation keeps, [D,S,K]
    // floats each; and the weights of a batch, [2,B,K], which a GPU has in its own memory.
    constexpr double kArrays = 8.0;
    const double cores = static_cast<double>(problem.dim()) * problem.num_categories() * components;
    const double weights = context.device == Device::kCpu
                               ? 2.0 * static_cast<double>(recipe.batch_size) * components
                               : 0.0;
    const int steps = matched_steps(options);
    if (steps > 0) require_tables(name(), problem);
    if (context.device != Device::kCpu) require_tables(name() + " on a device", problem);
    ReferenceChain(problem.reference(), std::max(steps, 1));
    require_training_memory(
        name(), problem,
        {{kArrays * sizeof(float) * cores, "components"},
         {sizeof(float) * weights, "batch_size"},
         {steps > 0 ? matching_tables_bytes(problem, steps) : 0.0, "num_steps"}});
    task({}, problem, options, 0);
    read_held_out_settings(options, problem.reference());
    refuse_holdout_on_ranks(context, problem, options);
    check_direction(context, options);
    TrainingData(problem, options.text("x0_data"), options.text("x1_data"), 0);
  }

  bool has_both_directions() const override { return true; }

  void save(const Coupling& coupling, const std::filesystem::path& path) const override {
    save_cp_model(coupling, path);
  }
  std::shared_ptr<const Coupling> load(const Context& context, const FitProblem& problem,
                                       const std::filesystem::path& path) const override {
    return load_cp_model(context, problem, path);
  }

 protected:
  // Of the chain that is matched; 0 where none is.
  virtual int matched_steps(const SolverOptions&) const { return 0; }

  virtual CpTask task(const Context& host, const FitProblem& problem, const SolverOptions& options,
                      std::uint64_t seed) const = 0;

  TrainingPlan training_plan(const SolverOptions& options) const override {
    const CpRecipe recipe = read_cp_recipe(options);
    return {name(), recipe.updates, recipe.checkpoint_seconds, recipe.log_every,
            recipe.validate_every};
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
        {read_cp_recipe(options).updates, matched_steps(options), seed,
         [this, context, host, seed](const FitProblem& ends, const SolverOptions& of_ends) {
           return make_one_way(context, host, ends, of_ends, seed);
         }});
  }

 private:
  std::unique_ptr<PotentialModel> make_one_way(const Context& context, const Context& host,
                                               const FitProblem& problem,
                                               const SolverOptions& options,
                                               std::uint64_t seed) const {
    const CpRecipe recipe = read_cp_recipe(options);
    const TrainingData data(problem, options.text("x0_data"), options.text("x1_data"), seed);
    const CpTask what = task(host, problem, options, seed);
    if (problem.data() && !context.ranks) {
      return make_held_out_model(context, host, problem, what, recipe,
                                 read_held_out_settings(options, problem.reference()),
                                 [host, recipe, dim = problem.dim(), S = problem.num_categories(),
                                  seed](const TrainingData& rows, std::size_t components) {
                                   CpRecipe sized = recipe;
                                   sized.components = components;
                                   return initial_cp_parameters(host, sized, rows, dim, S, seed);
                                 });
    }
    return make_cp_model(context, what, recipe,
                         cp_trainer_plan(host, what, recipe, data,
                                         initial_cp_parameters(host, recipe, data, problem.dim(),
                                                               problem.num_categories(), seed)));
  }
};

class DLightSb : public CpSolver {
 public:
  std::string name() const override { return "dlightsb"; }
  std::string description() const override {
    return "a CP bridge that minimises KL(q* || q) by its static form";
  }
  bool runs_on_ranks() const override { return true; }

 protected:
  CpTask task(const Context&, const FitProblem& problem, const SolverOptions&,
              std::uint64_t seed) const override {
    return {ReferenceChain(problem.reference(), 1), std::nullopt, seed, {}, {}};
  }
};

class DLightSbM : public CpSolver {
 public:
  std::string name() const override { return "dlightsb-m"; }
  std::string description() const override {
    return "a CP bridge that matches the transitions of the pinned reference";
  }
  // A step tells little of its end, so the noise of a batch is larger than for DLightSB, and equal
  // components part only when something sets them apart. The loss looks at each coordinate's
  // transition on its own: with independent pairs its minimum is not the bridge.
  std::vector<OptionSpec> options() const override {
    std::vector<OptionSpec> specs = cp_options();
    spec_of(specs, "updates").default_value = "10000";
    spec_of(specs, "batch_size").help = "rows of x_n and x_1 in an update";
    spec_of(specs, "learning_rate").default_value = rate_for_updates(300.0, 0.05);
    OptionSpec& noise = spec_of(specs, "init_noise");
    noise.paper = std::exchange(noise.default_value, kAuto);
    append(specs,
           {num_steps_option(),
            loss_option(),
            {.key = "coupling",
             .kind = Choices{{"independent", "minibatch"}},
             .default_value = "minibatch",
             .paper = "independent",
             .help = fmt::format("of x0 and x1 in a batch; minibatch: groups of {} rows paired by "
                                 "the reference",
                                 kCoupledRows)},
            {.key = "step_draws",
             .kind = Choices{{"even", "ends"}},
             .default_value = "ends",
             .paper = "even",
             .help = "how steps are drawn; ends: the first and last more often, weighed back to "
                     "the same loss"}});
    return specs;
  }

 protected:
  int matched_steps(const SolverOptions& options) const override {
    return options.integer("num_steps");
  }

  CpTask task(const Context& host, const FitProblem& problem, const SolverOptions& options,
              std::uint64_t seed) const override {
    const ReferenceProcess process = problem.reference();
    const int num_steps = matched_steps(options);
    CpTask task{ReferenceChain(process, num_steps),
                options.is("loss", "kl") ? backend::MatchingLoss::kKl : backend::MatchingLoss::kMse,
                seed,
                {},
                {}};
    if (options.is("step_draws", "ends")) task.steps = steps_of_ends(num_steps);
    if (options.is("coupling", "minibatch")) {
      task.coupling = {process.log_power(host, process.total_steps()).matrix(),
                       {seed, DrawPurpose::kRowCoupling}};
    }
    return task;
  }
};

}  // namespace

std::unique_ptr<Solver> make_dlightsb() { return std::make_unique<DLightSb>(); }
std::unique_ptr<Solver> make_dlightsb_m() { return std::make_unique<DLightSbM>(); }

}  // namespace bridgemark
