#include "bridgemark/solver/cp/dlightsb.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/solver/core/pinned_draws.h"
#include "bridgemark/solver/cp/cp_model.h"
#include "bridgemark/solver/cp/cp_model_file.h"
#include "bridgemark/solver/cp/cp_recipe.h"
#include "bridgemark/solver/cp/device_cp_model.h"

namespace bridgemark {

namespace {

// Parameters, moments and the optimiser's step in host memory, whatever the loss.
class HostCpModel : public CpModel {
 public:
  HostCpModel(const CpRecipe& recipe, TrainingData data, backend::CpTensors<float> parameters)
      : recipe_(recipe),
        data_(std::move(data)),
        gradient_(parameters.dim, parameters.num_categories, parameters.num_components),
        state_{std::move(parameters), gradient_, gradient_} {}

  double update(const Context& context, std::int64_t step) override {
    double loss = loss_and_gradient(context, static_cast<std::uint64_t>(step - 1));
    if (recipe_.entropy > 0.0) loss += add_entropy();
    backend::AdamWSettings settings;
    settings.learning_rate = recipe_.rate_at(step);
    settings.weight_decay = recipe_.weight_decay;
    backend::adamw_update(context, settings, step, gradient_.log_beta, state_.parameters.log_beta,
                          state_.first_moment.log_beta, state_.second_moment.log_beta);
    backend::adamw_update(context, settings, step, gradient_.log_cores, state_.parameters.log_cores,
                          state_.first_moment.log_cores, state_.second_moment.log_cores);
    return loss;
  }

  void save_state(SafetensorsWriter& writer) const override { save_cp_state(state_, writer); }
  void load_state(const SafetensorsFile& file) override { load_cp_state(file, state_); }
  CpPotential potential() const override { return to_potential(state_.parameters); }

 protected:
  // Fills gradient_ from the rows of update `index`, counted from 0.
  virtual double loss_and_gradient(const Context& context, std::uint64_t index) = 0;

  const backend::CpTensors<float>& parameters() const { return state_.parameters; }

  CpRecipe recipe_;
  TrainingData data_;
  backend::CpTensors<float> gradient_;
  backend::CpWorkspace<float> workspace_;

 private:
  // Adds -entropy * H(softmax(log_beta)) to the loss.
  double add_entropy() {
    const std::vector<float>& log_beta = state_.parameters.log_beta;
    std::vector<double> log_p(log_beta.begin(), log_beta.end());
    log_normalize(log_p.data(), log_p.size());
    double negative_entropy = 0.0;
    for (const double value : log_p) negative_entropy += std::exp(value) * value;
    for (std::size_t k = 0; k < log_p.size(); ++k) {
      const double pull = std::exp(log_p[k]) * (log_p[k] - negative_entropy);
      gradient_.log_beta[k] += static_cast<float>(recipe_.entropy * pull);
    }
    return recipe_.entropy * negative_entropy;
  }

  backend::CpTrainingState state_;
};

class StaticModel : public HostCpModel {
 public:
  StaticModel(const Context& context, const CpTask& task, const CpRecipe& recipe, TrainingData data,
              backend::CpTensors<float> parameters)
      : HostCpModel(recipe, std::move(data), std::move(parameters)),
        tables_(make_chain_tables<float>(context, task.chain)) {}

 protected:
  double loss_and_gradient(const Context& context, std::uint64_t index) override {
    const std::uint64_t first = index * recipe_.batch_size;
    const States x0 = data_.x0(context, recipe_.batch_size, first);
    const States x1 = data_.x1(context, recipe_.batch_size, first);
    return backend::static_loss<float>(context, parameters(), tables_, x0, x1, gradient_,
                                       workspace_);
  }

 private:
  backend::ChainTables<float> tables_;
};

class MatchingModel : public HostCpModel {
 public:
  MatchingModel(const Context& context, const CpTask& task, const CpRecipe& recipe,
                TrainingData data, backend::CpTensors<float> parameters)
      : HostCpModel(recipe, std::move(data), std::move(parameters)),
        loss_(task.loss == backend::CpLoss::kMatchingKl ? backend::MatchingLoss::kKl
                                                        : backend::MatchingLoss::kMse),
        tables_(make_chain_tables<float>(context, task.chain, task.steps)),
        points_(context, task.chain, task.seed, task.steps),
        coupling_(task.coupling) {}

 protected:
  double loss_and_gradient(const Context& context, std::uint64_t index) override {
    const std::size_t rows = recipe_.batch_size;
    const std::uint64_t first = index * rows;
    const States x0 = data_.x0(context, rows, first);
    States x1 = data_.x1(context, rows, first);
    if (coupling_.log_q.size() > 0) backend::couple_rows(context, coupling_, x0, first, x1);
    const std::vector<std::int32_t> n = points_.steps_done(rows, first);
    const States x_n = points_.states(context, x0, x1, n, first);
    return backend::matching_loss<float>(context, parameters(), tables_, loss_, x_n, x1, n,
                                         gradient_, workspace_);
  }

 private:
  backend::MatchingLoss loss_;
  backend::ChainTables<float> tables_;
  PinnedDraws points_;
  backend::RowCoupling coupling_;
};

std::unique_ptr<CpModel> make_host_cp_model(const Context& host, const CpTask& task,
                                            const CpRecipe& recipe, const TrainingData& data,
                                            backend::CpTensors<float> parameters) {
  if (task.loss == backend::CpLoss::kStatic) {
    return std::make_unique<StaticModel>(host, task, recipe, data, std::move(parameters));
  }
  return std::make_unique<MatchingModel>(host, task, recipe, data, std::move(parameters));
}

// What both solvers do around their model.
class CpSolver : public CpBridgeSolver {
 public:
  std::vector<OptionSpec> options() const override { return cp_options(); }
  void resolve(SolverOptions& options) const override { resolve_cp_recipe(options); }

  void check(const BenchmarkPair& pair, const SolverOptions& options) const override {
    read_cp_recipe(options);
    task({}, pair, options, 0);
    TrainingData(pair, options.text("x0_data"), options.text("x1_data"), 0);
  }

  Fitted fit(const Context& context, const BenchmarkPair& pair, const SolverOptions& given,
             std::uint64_t seed, const TrainingFiles& files) const override {
    SolverOptions options = given;
    resolve(options);
    const CpRecipe recipe = read_cp_recipe(options);
    const TrainingData data(pair, options.text("x0_data"), options.text("x1_data"), seed);
    // Starts and tables are made on the CPU whatever the device: the same on every machine.
    Context host = context;
    host.device = Device::kCpu;
    backend::CpTensors<float> start =
        initial_cp_parameters(host, recipe, data, pair.dim(), pair.num_categories(), seed);
    const CpTask what = task(host, pair, options, seed);
    const std::unique_ptr<CpModel> model =
        context.device == Device::kCpu
            ? make_host_cp_model(host, what, recipe, data, std::move(start))
            : make_device_cp_model(host, what, recipe, data, std::move(start));
    const TrainingPlan plan{name(), recipe.updates, recipe.checkpoint_seconds, recipe.log_every};
    const TrainingSummary summary = run_training(context, plan, files, *model);
    Fitted fitted;
    // The static loss sees no chain: its bridge has no number of steps of its own.
    const int own_num_steps = what.loss == backend::CpLoss::kStatic ? 0 : what.chain.num_steps();
    fitted.coupling =
        std::make_shared<CpBridge>(pair.reference(), model->potential(), own_num_steps);
    fitted.diagnostics = {{"updates", summary.updates},
                          {"resumed_from", summary.resumed_from},
                          {"last_loss", summary.last_loss},
                          {"training_seconds", summary.seconds}};
    return fitted;
  }

 protected:
  virtual CpTask task(const Context& host, const BenchmarkPair& pair, const SolverOptions& options,
                      std::uint64_t seed) const = 0;
};

class DLightSb : public CpSolver {
 public:
  std::string name() const override { return "dlightsb"; }
  std::string description() const override {
    return "a CP bridge that minimises KL(q* || q) by its static form";
  }

 protected:
  CpTask task(const Context&, const BenchmarkPair& pair, const SolverOptions&,
              std::uint64_t seed) const override {
    return {ReferenceChain(pair.reference(), 1), backend::CpLoss::kStatic, seed, {}, {}};
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
      if (spec.key == "batch_size") {
        spec.help = "rows of x_n and x_1 in an update (tuned 1024, paper 128)";
      } else if (spec.key == "learning_rate") {
        spec.help = "of AdamW, betas 0.95 and 0.99 (tuned 0.02, paper 0.01)";
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
      options.set_default("batch_size", "1024");
      options.set_default("learning_rate", "0.02");
      options.set_default("init_noise", "auto");
      options.set_default("coupling", kCouplings[1]);
      options.set_default("step_draws", kStepDraws[1]);
    }
    options.set_default("coupling", kCouplings[0]);
    options.set_default("step_draws", kStepDraws[0]);
    resolve_cp_recipe(options);
  }

 protected:
  CpTask task(const Context& host, const BenchmarkPair& pair, const SolverOptions& options,
              std::uint64_t seed) const override {
    const ReferenceProcess process = pair.reference();
    const auto num_steps = static_cast<int>(options.integer("num_steps", 1, 1 << 20));
    CpTask task{ReferenceChain(process, num_steps),
                options.choice("loss", kLosses) == 0 ? backend::CpLoss::kMatchingKl
                                                     : backend::CpLoss::kMatchingMse,
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
