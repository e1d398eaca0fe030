#include "bridgemark/solver/dlightsb.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"
#include "bridgemark/solver/cp_model_file.h"
#include "bridgemark/solver/cp_recipe.h"

namespace bridgemark {

namespace {

// Parameters, moments and the optimiser's step, whatever the loss.
class CpModel : public Trainable {
 public:
  CpModel(const CpRecipe& recipe, TrainingData data, backend::CpTensors<float> parameters)
      : recipe_(recipe),
        data_(std::move(data)),
        parameters_(std::move(parameters)),
        gradient_(parameters_.dim, parameters_.num_categories, parameters_.num_components),
        first_(gradient_),
        second_(gradient_) {}

  double update(const Context& context, std::int64_t step) override {
    double loss = loss_and_gradient(context, static_cast<std::uint64_t>(step - 1));
    if (recipe_.entropy > 0.0) loss += add_entropy();
    backend::AdamWSettings settings;
    settings.learning_rate = recipe_.rate_at(step);
    settings.weight_decay = recipe_.weight_decay;
    backend::adamw_update(context, settings, step, gradient_.log_beta, parameters_.log_beta,
                          first_.log_beta, second_.log_beta);
    backend::adamw_update(context, settings, step, gradient_.log_cores, parameters_.log_cores,
                          first_.log_cores, second_.log_cores);
    return loss;
  }

  void save_state(SafetensorsWriter& writer) const override {
    each_tensor(*this, [&](const char* name, const std::vector<float>& values) {
      writer.add(name, {values.size()}, std::span<const float>(values));
    });
  }

  void load_state(const SafetensorsFile& file) override {
    each_tensor(*this, [&](const char* name, std::vector<float>& values) {
      file.expect_shape(name, std::vector{values.size()});
      values = file.read_floats(name);
    });
  }

  CpPotential potential() const {
    const auto widen = [](const std::vector<float>& values) {
      return std::vector<double>(values.begin(), values.end());
    };
    return {widen(parameters_.log_beta),
            Array3<double>(parameters_.dim, parameters_.num_categories, parameters_.num_components,
                           widen(parameters_.log_cores))};
  }

 protected:
  // Fills gradient_ from the rows of update `index`, counted from 0.
  virtual double loss_and_gradient(const Context& context, std::uint64_t index) = 0;

  CpRecipe recipe_;
  TrainingData data_;
  backend::CpTensors<float> parameters_;
  backend::CpTensors<float> gradient_;
  backend::CpWorkspace<float> workspace_;

 private:
  template <typename Self, typename Visit>
  static void each_tensor(Self& self, Visit&& visit) {
    visit("log_beta", self.parameters_.log_beta);
    visit("log_cores", self.parameters_.log_cores);
    visit("first_log_beta", self.first_.log_beta);
    visit("first_log_cores", self.first_.log_cores);
    visit("second_log_beta", self.second_.log_beta);
    visit("second_log_cores", self.second_.log_cores);
  }

  // Adds -entropy * H(softmax(log_beta)) to the loss.
  double add_entropy() {
    const std::vector<float>& log_beta = parameters_.log_beta;
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

  backend::CpTensors<float> first_;
  backend::CpTensors<float> second_;
};

class StaticModel : public CpModel {
 public:
  StaticModel(const Context& context, const ReferenceProcess& process, const CpRecipe& recipe,
              TrainingData data, backend::CpTensors<float> parameters)
      : CpModel(recipe, std::move(data), std::move(parameters)),
        tables_(make_chain_tables<float>(context, ReferenceChain(process, 1))) {}

 protected:
  double loss_and_gradient(const Context& context, std::uint64_t index) override {
    const std::uint64_t first = index * recipe_.batch_size;
    const States x0 = data_.x0(context, recipe_.batch_size, first);
    const States x1 = data_.x1(context, recipe_.batch_size, first);
    return backend::static_loss<float>(context, parameters_, tables_, x0, x1, gradient_,
                                       workspace_);
  }

 private:
  backend::ChainTables<float> tables_;
};

class MatchingModel : public CpModel {
 public:
  MatchingModel(const Context& context, const ReferenceChain& chain, backend::MatchingLoss loss,
                std::uint64_t seed, const CpRecipe& recipe, TrainingData data,
                backend::CpTensors<float> parameters)
      : CpModel(recipe, std::move(data), std::move(parameters)),
        loss_(loss),
        seed_(seed),
        tables_(make_chain_tables<float>(context, chain)) {
    for (int n = 0; n < chain.num_steps(); ++n) {
      pinned_.push_back(PinnedReference::marginal(context, chain, n));
    }
  }

 protected:
  double loss_and_gradient(const Context& context, std::uint64_t index) override {
    const std::size_t rows = recipe_.batch_size;
    const std::uint64_t first = index * rows;
    const States x0 = data_.x0(context, rows, first);
    const States x1 = data_.x1(context, rows, first);
    States x_n(rows, x0.cols());
    std::vector<std::int32_t> n(rows);
    const Context one_thread{.num_threads = 1};
    for (std::size_t b = 0; b < rows; ++b) {
      DrawSequence draws({seed_, DrawPurpose::kShuffle}, first + b);
      const auto steps = static_cast<double>(pinned_.size());
      n[b] = static_cast<std::int32_t>(draws.uniform() * steps);
      pinned_[static_cast<std::size_t>(n[b])].sample(
          one_thread, x0.view().slice(b, 1), x1.view().slice(b, 1), {seed_, DrawPurpose::kPinned},
          first + b, x_n.view().slice(b, 1));
    }
    return backend::matching_loss<float>(context, parameters_, tables_, loss_, x_n, x1, n,
                                         gradient_, workspace_);
  }

 private:
  backend::MatchingLoss loss_;
  std::uint64_t seed_;
  backend::ChainTables<float> tables_;
  std::vector<PinnedReference> pinned_;  // by step
};

// What both solvers do around their model.
class CpSolver : public CpBridgeSolver {
 public:
  std::vector<OptionSpec> options() const override { return cp_options(); }
  void resolve(SolverOptions& options) const override { resolve_cp_recipe(options); }

  void check(const BenchmarkPair& pair, const SolverOptions& options) const override {
    read_cp_recipe(options);
    TrainingData(pair, options.text("x0_data"), options.text("x1_data"), 0);
  }

  Fitted fit(const Context& context, const BenchmarkPair& pair, const SolverOptions& given,
             std::uint64_t seed, const TrainingFiles& files) const override {
    if (context.device != Device::kCpu) {
      throw DeviceError(fmt::format("[device] {} trains on the cpu, got {}", name(),
                                    device_name(context.device)));
    }
    SolverOptions options = given;
    resolve(options);
    const CpRecipe recipe = read_cp_recipe(options);
    const TrainingData data(pair, options.text("x0_data"), options.text("x1_data"), seed);
    const std::unique_ptr<CpModel> model = make_model(
        context, pair, options, recipe, data, seed,
        initial_cp_parameters(context, recipe, data, pair.dim(), pair.num_categories(), seed));
    const TrainingPlan plan{name(), recipe.updates, recipe.checkpoint_seconds, recipe.log_every};
    const TrainingSummary summary = run_training(context, plan, files, *model);
    Fitted fitted;
    fitted.coupling = std::make_shared<CpBridge>(pair.reference(), model->potential());
    fitted.diagnostics = {{"updates", summary.updates},
                          {"resumed_from", summary.resumed_from},
                          {"last_loss", summary.last_loss},
                          {"training_seconds", summary.seconds}};
    return fitted;
  }

 protected:
  virtual std::unique_ptr<CpModel> make_model(const Context& context, const BenchmarkPair& pair,
                                              const SolverOptions& options, const CpRecipe& recipe,
                                              const TrainingData& data, std::uint64_t seed,
                                              backend::CpTensors<float> parameters) const = 0;
};

class DLightSb : public CpSolver {
 public:
  std::string name() const override { return "dlightsb"; }
  std::string description() const override {
    return "a CP bridge that minimises KL(q* || q) by its static form";
  }

 protected:
  std::unique_ptr<CpModel> make_model(const Context& context, const BenchmarkPair& pair,
                                      const SolverOptions&, const CpRecipe& recipe,
                                      const TrainingData& data, std::uint64_t,
                                      backend::CpTensors<float> parameters) const override {
    return std::make_unique<StaticModel>(context, pair.reference(), recipe, data,
                                         std::move(parameters));
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
    specs.push_back({"num_steps", "64", "steps of the chain"});
    specs.push_back({"loss", "kl", "kl or mse"});
    return specs;
  }

  void check(const BenchmarkPair& pair, const SolverOptions& options) const override {
    CpSolver::check(pair, options);
    read_loss(options);
    read_chain(pair, options);
  }

 protected:
  std::unique_ptr<CpModel> make_model(const Context& context, const BenchmarkPair& pair,
                                      const SolverOptions& options, const CpRecipe& recipe,
                                      const TrainingData& data, std::uint64_t seed,
                                      backend::CpTensors<float> parameters) const override {
    return std::make_unique<MatchingModel>(context, read_chain(pair, options), read_loss(options),
                                           seed, recipe, data, std::move(parameters));
  }

 private:
  static backend::MatchingLoss read_loss(const SolverOptions& options) {
    constexpr std::string_view kLosses[] = {"kl", "mse"};
    return options.choice("loss", kLosses) == 0 ? backend::MatchingLoss::kKl
                                                : backend::MatchingLoss::kMse;
  }
  static ReferenceChain read_chain(const BenchmarkPair& pair, const SolverOptions& options) {
    return {pair.reference(), options.integer("num_steps", 1, 1 << 20)};
  }
};

}  // namespace

std::unique_ptr<Solver> make_dlightsb() { return std::make_unique<DLightSb>(); }
std::unique_ptr<Solver> make_dlightsb_m() { return std::make_unique<DLightSbM>(); }

}  // namespace bridgemark
