#include "bridgemark/solver/csbm.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/solver/assignment.h"
#include "bridgemark/solver/csbm_recipe.h"
#include "bridgemark/solver/network_bridge.h"
#include "bridgemark/solver/pinned_draws.h"
#include "bridgemark/solver/training_data.h"

namespace bridgemark {

namespace {

using backend::NetworkTensors;

// Pairs (x0, x1) of one update.
struct Pairs {
  States x0;
  States x1;
};

// Each row `times` times in a row.
States repeat_rows(const States& states, std::size_t times) {
  States repeated(states.rows() * times, states.cols());
  for (std::size_t i = 0; i < repeated.rows(); ++i) {
    std::copy_n(states.row(i / times), states.cols(), repeated.row(i));
  }
  return repeated;
}

// One direction's network with all that its optimiser keeps.
struct TrainedNetwork {
  explicit TrainedNetwork(NetworkTensors<float> start)
      : parameters(std::move(start)),
        average(parameters),
        first(parameters.shape),
        second(parameters.shape) {}

  NetworkTensors<float> parameters;
  NetworkTensors<float> average;  // what samples, and what is kept
  NetworkTensors<float> first, second;
};

// Updates are numbered over all D-IMF iterations. In the first one the pairs are independent draws
// of both ends (or matched within the batch); later, one end is drawn and the other sampled through
// the network of the other direction. A point between them comes from the pinned reference.
class CsbmModel : public Trainable {
 public:
  CsbmModel(const Context& context, const ReferenceProcess& process, std::size_t dim,
            const CsbmRecipe& recipe, TrainingData data, std::uint64_t seed)
      : recipe_(recipe),
        data_(std::move(data)),
        seed_(seed),
        process_(process),
        pinned_draws_(context, ReferenceChain(process, recipe.num_steps), seed),
        steps_(make_two_way_steps(context, process, recipe.num_steps)) {
    backend::NetworkShape shape;
    shape.dim = dim;
    shape.num_categories = static_cast<std::size_t>(process.num_categories());
    shape.num_steps = recipe.num_steps;
    shape.hidden = recipe.hidden;
    shape.category_width = recipe.category_width;
    for (const Direction direction : kDirections) {
      networks_.emplace_back(initial_network(shape, direction, seed));
    }
    gradient_ = NetworkTensors<float>(shape);
  }

  double update(const Context& context, std::int64_t step) override {
    if (!recipe_.both_directions) {
      const Direction direction = recipe_.direction(step);
      return train(context, direction, step, pairs(context, direction, step));
    }
    // Both couplings come from the networks before the update.
    const Pairs forward = pairs(context, Direction::kForward, step);
    const Pairs backward =
        recipe_.iteration(step) == 1 ? forward : pairs(context, Direction::kBackward, step);
    return 0.5 * (train(context, Direction::kForward, step, forward) +
                  train(context, Direction::kBackward, step, backward));
  }

  TrainingStage stage(std::int64_t step) const override {
    const int iteration = recipe_.iteration(step);
    return {fmt::format("D-IMF iteration {} of {}", iteration, recipe_.imf_iterations),
            recipe_.last_update(iteration),
            {{"imf_iteration", iteration}}};
  }

  void save_state(SafetensorsWriter& writer) const override {
    each_tensor(*this, [&](const std::string& name, const NetworkTensors<float>& tensors) {
      writer.add(name, {tensors.values.size()}, std::span<const float>(tensors.values));
    });
    writer.add("update_counts", {counts_.size()}, std::span<const std::int64_t>(counts_));
  }

  void load_state(const SafetensorsFile& file) override {
    each_tensor(*this, [&](const std::string& name, NetworkTensors<float>& tensors) {
      file.expect_shape(name, std::vector{tensors.values.size()});
      tensors.values = file.read_floats(name);
    });
    file.expect_shape("update_counts", std::vector{counts_.size()});
    const std::vector<std::int32_t> counts = file.read_int32("update_counts");
    counts_.assign(counts.begin(), counts.end());
  }

  std::shared_ptr<const NetworkBridge> bridge() const {
    const auto average = [&](Direction direction) {
      return std::make_shared<const NetworkTensors<float>>(network(direction).average);
    };
    return std::make_shared<const NetworkBridge>(steps_, average(Direction::kForward),
                                                 average(Direction::kBackward));
  }

 private:
  static std::size_t index(Direction direction) { return static_cast<std::size_t>(direction); }
  const TrainedNetwork& network(Direction direction) const { return networks_[index(direction)]; }
  const backend::PinnedSteps& steps(Direction direction) const {
    return direction == Direction::kForward ? *steps_.towards_x1 : *steps_.towards_x0;
  }

  template <typename Self, typename Visit>
  static void each_tensor(Self& self, Visit&& visit) {
    for (const Direction direction : kDirections) {
      const std::string prefix = direction == Direction::kForward ? "forward." : "backward.";
      auto& network = self.networks_[index(direction)];
      visit(prefix + "parameters", network.parameters);
      visit(prefix + "average", network.average);
      visit(prefix + "first", network.first);
      visit(prefix + "second", network.second);
    }
  }

  std::uint64_t first_row(std::int64_t step) const {
    return static_cast<std::uint64_t>(step - 1) * recipe_.batch_size;
  }

  // The pairs that a direction trains on.
  Pairs pairs(const Context& context, Direction direction, std::int64_t step) {
    const std::size_t rows = recipe_.batch_size;
    const std::uint64_t first = first_row(step);
    if (recipe_.iteration(step) == 1) {
      Pairs drawn{data_.x0(context, rows, first), data_.x1(context, rows, first)};
      if (recipe_.optimal_start) drawn.x1 = matched(context, drawn);
      return drawn;
    }
    const Direction sampler = other(direction);
    const bool to_x1 = sampler == Direction::kForward;
    const States known = to_x1 ? data_.x0(context, rows, first) : data_.x1(context, rows, first);
    States drawn(rows, known.cols());
    const DrawKey key{derive_seed(seed_, index(sampler)), DrawPurpose::kTransition};
    backend::sample_network_chain(context, network(sampler).average, steps(sampler),
                                  recipe_.num_steps, recipe_.num_steps, known, key, first, drawn,
                                  sampling_);
    return to_x1 ? Pairs{known, std::move(drawn)} : Pairs{std::move(drawn), known};
  }

  // x1 in the order that matches x0 at the least total -log q_ref(x1 | x0).
  States matched(const Context& context, const Pairs& drawn) const {
    const std::size_t rows = drawn.x0.rows(), D = drawn.x0.cols();
    const Matrix<double>& log_q = process_.log_power(context, process_.total_steps());
    Matrix<double> cost(rows, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < rows; ++j) {
        for (std::size_t d = 0; d < D; ++d) {
          cost(i, j) -= log_q(static_cast<std::size_t>(drawn.x0(i, d)),
                              static_cast<std::size_t>(drawn.x1(j, d)));
        }
      }
    }
    const std::vector<std::size_t> column = least_cost_assignment(cost.view());
    States x1(rows, D);
    for (std::size_t i = 0; i < rows; ++i) std::copy_n(drawn.x1.row(column[i]), D, x1.row(i));
    return x1;
  }

  double train(const Context& context, Direction direction, std::int64_t step, const Pairs& drawn) {
    const std::uint64_t first = first_row(step) * recipe_.points;
    const bool forward = direction == Direction::kForward;
    const States x0 = repeat_rows(drawn.x0, recipe_.points);
    const States x1 = repeat_rows(drawn.x1, recipe_.points);
    const std::vector<std::int32_t> done = pinned_draws_.steps_done(x0.rows(), first);
    std::vector<std::int32_t> left(done.size());
    for (std::size_t b = 0; b < done.size(); ++b) left[b] = recipe_.num_steps - done[b];
    // Steps are done from x0 forward and from x1 backward; times count from x0.
    const States x = pinned_draws_.states(context, x0, x1, forward ? done : left, first);
    TrainedNetwork& network = networks_[index(direction)];
    const double loss = backend::network_loss<float>(context, network.parameters,
                                                     steps(direction).chain, recipe_.loss, x,
                                                     forward ? x1 : x0, left, gradient_, training_);
    const std::int64_t count = ++counts_[index(direction)];
    backend::AdamWSettings settings;
    settings.learning_rate = recipe_.learning_rate;
    settings.weight_decay = recipe_.weight_decay;
    backend::adamw_update(context, settings, count, gradient_.values, network.parameters.values,
                          network.first.values, network.second.values);
    backend::ema_update(context, recipe_.ema_at(count), network.parameters.values,
                        network.average.values);
    return loss;
  }

  CsbmRecipe recipe_;
  TrainingData data_;
  std::uint64_t seed_;
  ReferenceProcess process_;
  PinnedDraws pinned_draws_;
  TwoWaySteps steps_;
  std::vector<TrainedNetwork> networks_;       // by direction
  std::vector<std::int64_t> counts_ = {0, 0};  // updates so far, by direction
  NetworkTensors<float> gradient_;
  backend::NetworkWorkspace<float> training_, sampling_;
};

class CsbmSolver : public Solver {
 public:
  CsbmSolver(std::string name, std::string description, CsbmVariant variant)
      : name_(std::move(name)), description_(std::move(description)), variant_(variant) {}

  std::string name() const override { return name_; }
  std::string description() const override { return description_; }
  std::vector<OptionSpec> options() const override { return csbm_options(variant_); }

  void check(const BenchmarkPair& pair, const SolverOptions& options) const override {
    ReferenceChain(pair.reference(), read_csbm_recipe(options, variant_).num_steps);
    TrainingData(pair, options.text("x0_data"), options.text("x1_data"), 0);
  }

  Fitted fit(const Context& context, const BenchmarkPair& pair, const SolverOptions& options,
             std::uint64_t seed, const TrainingFiles& files) const override {
    if (context.device != Device::kCpu) {
      throw DeviceError(
          fmt::format("[device] {} trains on the cpu, got {}", name_, device_name(context.device)));
    }
    const CsbmRecipe recipe = read_csbm_recipe(options, variant_);
    const TrainingData data(pair, options.text("x0_data"), options.text("x1_data"), seed);
    CsbmModel model(context, pair.reference(), pair.dim(), recipe, data, seed);
    const TrainingPlan plan{name_, recipe.updates(), recipe.checkpoint_seconds, recipe.log_every};
    const TrainingSummary summary = run_training(context, plan, files, model);
    Fitted fitted;
    fitted.coupling = model.bridge();
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
                                      "networks that match bridges, one direction an update",
                                      CsbmVariant{false, "128", "0.0001"});
}

std::unique_ptr<Solver> make_alpha_csbm() {
  return std::make_unique<CsbmSolver>("alpha-csbm",
                                      "networks that match bridges, both directions an update",
                                      CsbmVariant{true, "64", "0.001"});
}

}  // namespace bridgemark
