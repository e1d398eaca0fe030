#include "bridgemark/solver/csbm/csbm.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/backend/network_training.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/solver/core/pinned_draws.h"
#include "bridgemark/solver/csbm/csbm_model.h"
#include "bridgemark/solver/csbm/device_csbm_model.h"

namespace bridgemark {

namespace {

// Each row `times` times in a row.
States repeat_rows(const States& states, std::size_t times) {
  States repeated(states.rows() * times, states.cols());
  for (std::size_t i = 0; i < repeated.rows(); ++i) {
    std::copy_n(states.row(i / times), states.cols(), repeated.row(i));
  }
  return repeated;
}

// Networks, moments and batches in host memory.
class HostCsbmModel : public CsbmModel {
 public:
  HostCsbmModel(const Context& context, CsbmTask task)
      : CsbmModel(task, make_two_way_steps(context, task.process, task.recipe.num_steps)),
        pinned_draws_(context, ReferenceChain(task.process, task.recipe.num_steps), task.seed),
        networks_(initial_networks(task)),
        gradient_(networks_[0].parameters.shape) {}

  double update(const Context& context, std::int64_t step) override {
    if (!recipe().both_directions) {
      const Direction direction = recipe().direction(step);
      return train(context, direction, step, pairs(context, direction, step));
    }
    // Both couplings come from the networks before the update.
    const PairedStates forward = pairs(context, Direction::kForward, step);
    const PairedStates backward = pairs(context, Direction::kBackward, step);
    return 0.5 * (train(context, Direction::kForward, step, forward) +
                  train(context, Direction::kBackward, step, backward));
  }

 protected:
  const backend::NetworkTrainingState& networks() const override { return networks_; }
  void set_networks(backend::NetworkTrainingState networks) override {
    networks_ = std::move(networks);
  }

 private:
  // The pairs that a direction trains on.
  PairedStates pairs(const Context& context, Direction direction, std::int64_t step) {
    const TrainingData& data = task().data;
    const std::size_t rows = recipe().batch_size;
    const std::uint64_t first = recipe().first_row(step, direction);
    if (recipe().iteration(step) == 1) return task().first_pairs.rows(context, rows, first);
    const Direction sampler = other(direction);
    const bool to_x1 = sampler == Direction::kForward;
    const States known = to_x1 ? data.x0(context, rows, first) : data.x1(context, rows, first);
    States drawn(rows, known.cols());
    backend::sample_network_chain(context, networks_[direction_index(sampler)].average,
                                  steps(sampler), recipe().num_steps, recipe().num_steps, known,
                                  chain_key(task().seed, sampler), first, drawn, sampling_);
    return to_x1 ? PairedStates{known, std::move(drawn)} : PairedStates{std::move(drawn), known};
  }

  double train(const Context& context, Direction direction, std::int64_t step,
               const PairedStates& drawn) {
    const std::uint64_t first = recipe().first_row(step, direction) * recipe().points;
    const bool forward = direction == Direction::kForward;
    const States x0 = repeat_rows(drawn.x0, recipe().points);
    const States x1 = repeat_rows(drawn.x1, recipe().points);
    const std::vector<std::int32_t> done = pinned_draws_.steps_done(x0.rows(), first);
    std::vector<std::int32_t> left(done.size());
    for (std::size_t b = 0; b < done.size(); ++b) left[b] = recipe().num_steps - done[b];
    // Steps are done from x0 forward and from x1 backward; times count from x0.
    const States x = pinned_draws_.states(context, x0, x1, forward ? done : left, first);
    backend::TrainedNetwork& network = networks_[direction_index(direction)];
    const double loss = backend::network_loss<float>(context, network.parameters,
                                                     steps(direction).chain, recipe().loss, x,
                                                     forward ? x1 : x0, left, gradient_, training_);
    const std::int64_t count = count_update(direction);
    backend::adamw_update(context, csbm_adamw(recipe(), count), count, gradient_.values,
                          network.parameters.values, network.first_moment.values,
                          network.second_moment.values);
    backend::ema_update(context, recipe().ema_at(count), network.parameters.values,
                        network.average.values);
    return loss;
  }

  PinnedDraws pinned_draws_;
  backend::NetworkTrainingState networks_;
  backend::NetworkTensors<float> gradient_;
  backend::NetworkWorkspace<float> training_, sampling_;
};

class CsbmSolver : public Solver {
 public:
  CsbmSolver(std::string name, std::string description, CsbmVariant variant)
      : name_(std::move(name)), description_(std::move(description)), variant_(variant) {}

  std::string name() const override { return name_; }
  std::string description() const override { return description_; }
  std::vector<OptionSpec> options() const override { return csbm_options(variant_); }
  void resolve(SolverOptions& options) const override { resolve_csbm_recipe(options, variant_); }

  void check(const BenchmarkPair& pair, const SolverOptions& options) const override {
    ReferenceChain(pair.reference(), read_csbm_recipe(options, variant_).num_steps);
    TrainingData(pair, options.text("x0_data"), options.text("x1_data"), 0);
  }

  Fitted fit(const Context& context, const BenchmarkPair& pair, const SolverOptions& given,
             std::uint64_t seed, const TrainingFiles& files) const override {
    SolverOptions options = given;
    resolve(options);
    check(pair, options);  // before the first pairs are made
    const CsbmRecipe recipe = read_csbm_recipe(options, variant_);
    const TrainingData data(pair, options.text("x0_data"), options.text("x1_data"), seed);
    // Starts and tables are made on the CPU whatever the device: the same on every machine.
    Context host = context;
    host.device = Device::kCpu;
    const CsbmTask task{pair.reference(),
                        pair.dim(),
                        recipe,
                        data,
                        seed,
                        FirstPairs(host, recipe.first_pairs, pair.reference(), data, seed)};
    const std::unique_ptr<CsbmModel> model = context.device == Device::kCpu
                                                 ? std::make_unique<HostCsbmModel>(host, task)
                                                 : make_device_csbm_model(host, task);
    const TrainingPlan plan{name_, recipe.updates(), recipe.checkpoint_seconds, recipe.log_every};
    const TrainingSummary summary = run_training(context, plan, files, *model);
    Fitted fitted;
    fitted.coupling = model->bridge();
    fitted.diagnostics = {{"updates", summary.updates},
                          {"resumed_from", summary.resumed_from},
                          {"last_loss", summary.last_loss},
                          {"training_seconds", summary.seconds}};
    return fitted;
  }

  void save(const Coupling& coupling, const std::filesystem::path& path) const override {
    save_network_bridge(dynamic_cast<const NetworkBridge&>(coupling), path);
  }
  std::shared_ptr<const Coupling> load(const Context& context, const BenchmarkPair& pair,
                                       const std::filesystem::path& path) const override {
    return load_network_bridge(context, pair.reference(), pair.dim(), path);
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
