#include "bridgemark/solver/cp/dlightsb.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/backend/ranks/component_share.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/rank_group.h"
#include "bridgemark/solver/core/training_memory.h"
#include "bridgemark/solver/cp/cp_model.h"
#include "bridgemark/solver/cp/cp_model_file.h"
#include "bridgemark/solver/cp/cp_recipe.h"
#include "bridgemark/solver/cp/held_out_model.h"

namespace bridgemark {

namespace {

// What both solvers share: recipe, start and files.
class CpSolver : public TrainedSolver {
 public:
  std::vector<OptionSpec> options() const override { return cp_options(); }
  void resolve(SolverOptions& options) const override { resolve_cp_recipe(options); }

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
    ReferenceChain(problem.reference(), std::max(steps, 1));
    require_training_memory(
        name(), problem,
        {{kArrays * sizeof(float) * cores, "components"},
         {sizeof(float) * weights, "batch_size"},
         {steps > 0 ? matching_tables_bytes(problem, steps) : 0.0, "num_steps"}});
    task({}, problem, options, 0);
    read_held_out_settings(options, problem.reference());
    refuse_holdout_on_ranks(context, problem, options);
    TrainingData(problem, options.text("x0_data"), options.text("x1_data"), 0);
  }

  void save(const Coupling& coupling, const std::filesystem::path& path) const override {
    save_cp_model(dynamic_cast<const CpBridge&>(coupling), path);
  }
  std::shared_ptr<const Coupling> load(const Context&, const FitProblem& problem,
                                       const std::filesystem::path& path) const override {
    return load_cp_model(problem.reference(), problem.dim(), path);
  }

 protected:
  // Of the chain that is matched; 0 where none is.
  virtual int matched_steps(const SolverOptions&) const { return 0; }

  virtual CpTask task(const Context& host, const FitProblem& problem, const SolverOptions& options,
                      std::uint64_t seed) const = 0;

  TrainingPlan training_plan(const SolverOptions& options) const override {
    const CpRecipe recipe = read_cp_recipe(options);
    return {name(), recipe.updates, recipe.checkpoint_seconds, recipe.log_every};
  }

  std::unique_ptr<TrainedModel> make_model(const Context& context, const Context& host,
                                           const FitProblem& problem, const SolverOptions& options,
                                           std::uint64_t seed) const override {
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
  std::vector<OptionSpec> options() const override {
    std::vector<OptionSpec> specs = cp_options();
    for (OptionSpec& spec : specs) {
      if (spec.key == "updates") {
        spec.help = "gradient updates (tuned 10000, paper 100000)";
      } else if (spec.key == "batch_size") {
        spec.help = "rows of x_n and x_1 in an update (tuned 2048, paper 128)";
      } else if (spec.key == "learning_rate") {
        spec.help =
            "of AdamW, betas 0.95 and 0.99 (tuned 300 / updates, within 0.01 and 0.05; paper 0.01)";
      } else if (spec.key == "init_noise") {
        spec.help =
            "standard deviation of noise on the log-cores, or auto: 0.3 up to 16 dimensions, 0.1 "
            "beyond (tuned auto, paper 0)";
      }
    }
    specs.push_back({"num_steps", "64", "steps of the chain"});
    specs.push_back({"loss", "kl", "kl or mse"});
    specs.push_back({"coupling", "",
                     "of x0 and x1 in a batch: independent, or minibatch: groups of 32 rows paired "
                     "by the reference (tuned minibatch, paper independent)"});
    specs.push_back({"step_draws", "",
                     "even, or ends: the first and last steps more often, weighed back to the same "
                     "loss (tuned ends, paper even)"});
    return specs;
  }
  // A step tells little of its end, so the noise of a batch is larger than for DLightSB, and equal
  // components part only when something sets them apart. The loss looks at each coordinate's
  // transition on its own: with independent pairs its minimum is not the bridge.
  void resolve(SolverOptions& options) const override {
    if (options.text("recipe") == "tuned") {
      options.set_default("updates", "10000");
      options.set_default("learning_rate", rate_for_updates(options, 300.0, 0.05));
      options.set_default("init_noise", "auto");
      options.set_default("coupling", kCouplings[1]);
      options.set_default("step_draws", kStepDraws[1]);
    }
    options.set_default("coupling", kCouplings[0]);
    options.set_default("step_draws", kStepDraws[0]);
    resolve_cp_recipe(options);
  }

 protected:
  int matched_steps(const SolverOptions& options) const override {
    return options.integer("num_steps", 1, kMaxTotalSteps);
  }

  CpTask task(const Context& host, const FitProblem& problem, const SolverOptions& options,
              std::uint64_t seed) const override {
    const ReferenceProcess process = problem.reference();
    const int num_steps = matched_steps(options);
    CpTask task{ReferenceChain(process, num_steps),
                options.choice("loss", kLosses) == 0 ? backend::MatchingLoss::kKl
                                                     : backend::MatchingLoss::kMse,
                seed,
                {},
                {}};
    if (options.choice("step_draws", kStepDraws) == 1) task.steps = steps_of_ends(num_steps);
    if (options.choice("coupling", kCouplings) == 1) {
      task.coupling = {process.log_power(host, process.total_steps()),
                       {seed, DrawPurpose::kRowCoupling}};
    }
    return task;
  }

 private:
  static constexpr std::string_view kLosses[] = {"kl", "mse"};
  static constexpr std::string_view kCouplings[] = {"independent", "minibatch"};
  static constexpr std::string_view kStepDraws[] = {"even", "ends"};
};

}  // namespace

std::unique_ptr<Solver> make_dlightsb() { return std::make_unique<DLightSb>(); }
std::unique_ptr<Solver> make_dlightsb_m() { return std::make_unique<DLightSbM>(); }

}  // namespace bridgemark
