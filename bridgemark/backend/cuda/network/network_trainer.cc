#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/network/dense_layer.h"
#include "bridgemark/backend/cuda/network/device_network.h"
#include "bridgemark/backend/cuda/runtime/finite_values.h"
#include "bridgemark/backend/cuda/runtime/graph.h"
#include "bridgemark/backend/cuda/runtime/stream.h"
#include "bridgemark/backend/cuda/runtime/update_runs.h"
#include "bridgemark/core/error.h"

// Owns the device's memory of a training and replays its updates as CUDA graphs, one for each kind
// of update. While an update runs, the ends of the next one are drawn beside it into the other of
// two buffers; where an update trains both directions, they run beside each other.
namespace bridgemark::backend::cuda {

namespace {

// One direction: its network and all that an update of it writes.
struct Trained {
  OptimizedNetwork network{};
  float* gradient = nullptr;
  std::vector<float*> values;  // inputs, hidden layers, logits, [rows, width]
  std::vector<float*> flows;   // d loss / d the outputs of each layer; that of the logits is theirs
  float *input_flow = nullptr, *pull_back_scratch = nullptr, *weight_scratch = nullptr;
  float *loss_scratch = nullptr, *step_table = nullptr;
  double *row_loss = nullptr, *losses = nullptr;
  PointsView points{};
  std::int32_t* sampled = nullptr;  // [B,D], the end that this direction's chains lead to
  StepTables tables{};
  // The weights' gradients are made beside the way back through the layers.
  Stream side;
};

class CudaNetworkTrainer : public NetworkTrainer {
 public:
  CudaNetworkTrainer(NetworkTrainerPlan plan, int sharers)
      : plan_(std::move(plan)),
        shape_(plan_.start[0].parameters.shape),
        rows_(plan_.batch_size * plan_.points),
        sources_{DeviceSource(plan_.x0, plan_.rows_of_update()),
                 DeviceSource(plan_.x1, plan_.rows_of_update())},
        first_sources_{DeviceSource(plan_.first_x0, plan_.rows_of_update()),
                       DeviceSource(plan_.first_x1, plan_.rows_of_update())} {
    const std::size_t ends = 2 * plan_.rows_of_update() * shape_.dim;
    ends_ = {memory_.allocate<std::int32_t>(ends), memory_.allocate<std::int32_t>(ends),
             plan_.rows_of_update()};
    settings_ = memory_.allocate<UpdateSettings>(kMaxUpdatesOfRun);
    progress_ = memory_.allocate<Progress>(1);
    pinned_ = upload_pinned(memory_, plan_.pinned);
    for (int i = 0; i < 2; ++i) allocate(trained_[i]);
    trained_[0].tables = upload_steps(memory_, *plan_.steps[0]);
    trained_[1].tables = plan_.steps[0] == plan_.steps[1] ? trained_[0].tables
                                                          : upload_steps(memory_, *plan_.steps[1]);
    const std::size_t chains = plan_.both_directions ? 2 : 1;
    if (trained_[0].tables.probabilities != nullptr) {
      cluster_ = plan_cluster_chain(shape_, chains * plan_.batch_size, sharers);
    }
    if (cluster_.blocks == 0) {
      const std::size_t scratch = plan_.batch_size * widest_values(shape_);
      chain_scratch_ = {memory_.allocate<float>(scratch), memory_.allocate<float>(scratch)};
    }
    set_state(plan_.start);
    BM_CUDA_CHECK(cudaStreamSynchronize(nullptr));  // the tables are there for every stream
  }

  void run(std::int64_t first_step, std::span<const NetworkUpdate> updates,
           std::span<double> losses) override {
    run_in_parts(updates.size(), [&](std::size_t first, std::size_t count) {
      run_part(first_step + static_cast<std::int64_t>(first), updates.subspan(first, count),
               losses.subspan(first, count));
    });
  }

  std::int64_t updates_at_once() const override { return kUpdatesAtOnce; }

  bool has_finite_parameters() const override {
    const auto parameters = [&](int direction) -> DeviceValues {
      return {trained_[direction].network.parameters, shape_.num_parameters()};
    };
    return finite_.all_finite(std::array{parameters(0), parameters(1)}, stream_);
  }

  double evaluate(int direction, StatesView x, StatesView clean,
                  std::span<const std::int32_t> steps_left,
                  NetworkTensors<float>& gradient) override {
    if (x.rows != rows_ || clean.rows != rows_ || steps_left.size() != rows_) {
      throw_invalid("training", "a batch must have {} rows, got {}, {} and {}", rows_, x.rows,
                    clean.rows, steps_left.size());
    }
    Trained& trained = trained_[static_cast<std::size_t>(direction)];
    upload(x.data, x.size(), trained.points.x);
    upload(clean.data, clean.size(), trained.points.clean);
    upload(steps_left.data(), steps_left.size(), trained.points.steps_left);
    const Progress start{0, 0};
    upload(&start, 1, progress_);
    launch_gradient(trained, stream_);
    gradient = NetworkTensors<float>(shape_);
    download(trained.gradient, gradient.values.size(), gradient.values.data());
    double loss = 0.0;
    download(trained.losses, 1, &loss);
    return loss;
  }

  // As many rows at a time as an update has points, in its buffers.
  void average_losses(int direction, StatesView x, StatesView clean,
                      std::span<const std::int32_t> steps_left, std::span<double> losses) override {
    const Trained& trained = trained_[static_cast<std::size_t>(direction)];
    const float* average = trained.network.average;
    // Of one row: a mean over one has the scale of its own loss.
    const double scale = network_loss_scale(plan_.loss, 1, shape_.dim);
    std::vector<double> terms(rows_ * shape_.dim);
    for (std::size_t first = 0; first < x.rows; first += rows_) {
      const std::size_t rows = std::min(rows_, x.rows - first);
      upload(x.row(first), rows * shape_.dim, trained.points.x);
      upload(clean.row(first), rows * shape_.dim, trained.points.clean);
      upload(steps_left.data() + first, rows, trained.points.steps_left);
      launch_inputs(shape_, average, trained.points.x, trained.points.steps_left, 0, rows,
                    trained.values[0], stream_);
      launch_forward(shape_, average, rows, trained.values, LayerProduct::kInOrder, stream_);
      launch_network_loss(shape_, trained.tables, plan_.loss, trained.points, rows, scale,
                          trained.loss_scratch, trained.values.back(), trained.row_loss, stream_);
      download(trained.row_loss, rows * shape_.dim, terms.data());
      for (std::size_t b = 0; b < rows; ++b) {
        const double* of_row = terms.data() + b * shape_.dim;
        losses[first + b] = scale * std::accumulate(of_row, of_row + shape_.dim, 0.0);
      }
    }
  }

  NetworkTrainingState state() const override {
    NetworkTrainingState state;
    for (std::size_t i = 0; i < 2; ++i) {
      const OptimizedNetwork& network = trained_[i].network;
      const auto read = [&](const float* from) {
        NetworkTensors<float> tensors(shape_);
        download(from, tensors.values.size(), tensors.values.data());
        return tensors;
      };
      state[i] = {read(network.parameters), read(network.average), read(network.first),
                  read(network.second)};
    }
    return state;
  }

  void set_state(const NetworkTrainingState& state) override {
    for (std::size_t i = 0; i < 2; ++i) {
      const OptimizedNetwork& network = trained_[i].network;
      const auto write = [&](const NetworkTensors<float>& tensors, float* to) {
        upload(tensors.values.data(), tensors.values.size(), to);
      };
      write(state[i].parameters, network.parameters);
      write(state[i].average, network.average);
      write(state[i].first_moment, network.first);
      write(state[i].second_moment, network.second);
    }
  }

 private:
  int D() const { return static_cast<int>(shape_.dim); }
  int S() const { return static_cast<int>(shape_.num_categories); }

  // In the order of the training's own stream: others may share the device.
  template <typename T>
  void upload(const T* from, std::size_t count, T* to) const {
    BM_CUDA_CHECK(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream_));
  }
  template <typename T>
  void download(const T* from, std::size_t count, T* to) const {
    BM_CUDA_CHECK(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream_));
    BM_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

  void allocate(Trained& trained) {
    const std::size_t count = shape_.num_parameters(), layers = shape_.num_layers();
    const auto floats = [&](std::size_t size) { return memory_.allocate<float>(size); };
    trained.gradient = floats(count);
    trained.network = {floats(count), floats(count),    floats(count),
                       floats(count), trained.gradient, count};
    std::size_t to_inputs = pull_back_scratch(rows_, shape_.layer_outputs(0), input_flow_width()),
                to_weights = 0;
    trained.values.push_back(floats(rows_ * shape_.input_width()));
    for (std::size_t l = 0; l < layers; ++l) {
      const std::size_t outputs = shape_.layer_outputs(l);
      trained.values.push_back(floats(rows_ * outputs));
      trained.flows.push_back(l + 1 < layers ? floats(rows_ * outputs) : trained.values.back());
      const std::size_t inputs = shape_.layer_inputs(l);
      to_inputs = std::max(to_inputs, pull_back_scratch(rows_, outputs, inputs));
      to_weights = std::max(to_weights, weight_gradient_scratch(rows_, outputs, inputs));
    }
    trained.pull_back_scratch = memory_.zeros<float>(to_inputs);
    trained.weight_scratch = memory_.zeros<float>(to_weights);
    trained.input_flow = floats(rows_ * input_flow_width());
    trained.loss_scratch = floats(prepare_network_loss(shape_, rows_));
    trained.step_table =
        floats((static_cast<std::size_t>(shape_.num_steps) + 1) * shape_.layer_outputs(0));
    trained.row_loss = memory_.allocate<double>(rows_ * shape_.dim);
    trained.losses = memory_.allocate<double>(kMaxUpdatesOfRun);
    const auto states = [&](std::size_t size) { return memory_.allocate<std::int32_t>(size); };
    trained.points = {states(rows_ * shape_.dim), states(rows_ * shape_.dim), states(rows_)};
    trained.sampled = states(plan_.batch_size * shape_.dim);
  }

  // States that enter as numbers need no gradient.
  std::size_t input_flow_width() const {
    return shape_.category_width > 0 ? shape_.input_width() : shape_.step_width();
  }

  void draw_ends(bool first_pairs, int ahead, cudaStream_t stream) {
    const std::array<DeviceSource, 2>& from = first_pairs ? first_sources_ : sources_;
    launch_ends(from[0].view(), from[1].view(), D(), S(), progress_, ahead, ends_, stream);
  }

  // Chains through the averages of the given directions, from the end that each starts at.
  void launch_chains(std::span<const int> samplers) {
    std::vector<ChainJob> jobs;
    for (const int sampler : samplers) {
      const Trained& from = trained_[static_cast<std::size_t>(sampler)];
      const float* average = from.network.average;
      if (cluster_.blocks > 0) launch_step_table(shape_, average, from.step_table, stream_);
      const std::size_t row = plan_.first_row(1 - sampler);  // it samples for the other direction
      jobs.push_back({average, from.tables, from.step_table,
                      (sampler == 0 ? ends_.x0 : ends_.x1) + row * shape_.dim, from.sampled,
                      plan_.chain_keys[static_cast<std::size_t>(sampler)], row, progress_,
                      ends_.rows});
    }
    const ChainSteps steps{shape_.num_steps, shape_.num_steps, plan_.batch_size,
                           shape_.reference_last_step};
    if (cluster_.blocks > 0) {
      launch_cluster_chain(shape_, cluster_, jobs, steps, stream_);
      return;
    }
    for (const ChainJob& job : jobs) launch_chain(shape_, job, steps, chain_scratch_, stream_);
  }

  // Loss and gradient of the points that are there.
  void launch_gradient(Trained& trained, Stream& stream) {
    const double scale = network_loss_scale(plan_.loss, rows_, shape_.dim);
    const float* parameters = trained.network.parameters;
    launch_inputs(shape_, parameters, trained.points.x, trained.points.steps_left, 0, rows_,
                  trained.values[0], stream);
    launch_forward(shape_, parameters, rows_, trained.values, LayerProduct::kInOrder, stream);
    launch_network_loss(shape_, trained.tables, plan_.loss, trained.points, rows_, scale,
                        trained.loss_scratch, trained.values.back(), trained.row_loss, stream);
    for (std::size_t l = shape_.num_layers(); l-- > 0;) {
      const std::size_t inputs = shape_.layer_inputs(l), outputs = shape_.layer_outputs(l);
      const float* weight = parameters + shape_.weight_offset(l);
      trained.side.follow(stream);
      launch_weight_gradient(trained.flows[l], rows_, outputs, trained.values[l], inputs,
                             trained.weight_scratch, trained.gradient + shape_.weight_offset(l),
                             trained.gradient + shape_.bias_offset(l), trained.side);
      if (l > 0) {
        launch_pull_back(trained.flows[l], rows_, outputs, weight, inputs, inputs,
                         trained.values[l], trained.pull_back_scratch, trained.flows[l - 1],
                         stream);
      } else {
        launch_pull_back(trained.flows[l], rows_, outputs, weight + inputs - input_flow_width(),
                         inputs, input_flow_width(), nullptr, trained.pull_back_scratch,
                         trained.input_flow, stream);
      }
    }
    launch_loss_sum(trained.row_loss, rows_ * shape_.dim, scale, progress_, trained.losses,
                    trained.side);
    launch_embedding_gradient(shape_, trained.input_flow, input_flow_width(), trained.points, rows_,
                              trained.gradient, stream);
    stream.follow(trained.side);
  }

  void launch_training(int direction, bool first_pairs, Stream& stream) {
    Trained& trained = trained_[static_cast<std::size_t>(direction)];
    const Trained& sampler = trained_[static_cast<std::size_t>(1 - direction)];
    launch_points(pinned_, D(), S(), shape_.num_steps, plan_.first_row(direction), plan_.batch_size,
                  plan_.points, direction, progress_, ends_,
                  first_pairs ? nullptr : sampler.sampled, trained.points, stream);
    launch_gradient(trained, stream);
    launch_adamw(trained.network, settings_, progress_, stream);
  }

  // Updates of one kind share a graph: by the pairs of this update and of the next one, whose ends
  // it draws, and by direction.
  struct Kind {
    bool first_pairs, first_pairs_next;
    int direction;
    std::size_t number() const {
      return (first_pairs ? 0u : 4u) + (first_pairs_next ? 0u : 2u) +
             static_cast<std::size_t>(direction);
    }
  };

  void record_update(const Kind& kind) {
    draw_stream_.follow(stream_);
    draw_ends(kind.first_pairs_next, 1, draw_stream_);
    if (plan_.both_directions) {
      // Both couplings come from the networks before the update.
      constexpr int kSamplers[] = {0, 1};
      if (!kind.first_pairs) launch_chains(kSamplers);
      second_stream_.follow(stream_);
      launch_training(1, kind.first_pairs, second_stream_);
      launch_training(0, kind.first_pairs, stream_);
      stream_.follow(second_stream_);
    } else {
      const int samplers[] = {1 - kind.direction};
      if (!kind.first_pairs) launch_chains(samplers);
      launch_training(kind.direction, kind.first_pairs, stream_);
    }
    stream_.follow(draw_stream_);
    launch_next_update(progress_, stream_);
  }

  // The graph of an update, captured when the first of its kind comes.
  const Graph& graph_of(const NetworkUpdate& update, const NetworkUpdate& next) {
    const Kind kind{update.first_pairs, next.first_pairs,
                    plan_.both_directions ? 0 : update.direction};
    Graph& graph = graphs_[kind.number()];
    if (graph.empty()) graph.capture(stream_, [&] { record_update(kind); });
    return graph;
  }

  void run_part(std::int64_t first_step, std::span<const NetworkUpdate> updates,
                std::span<double> losses) {
    std::vector<UpdateSettings> settings;
    for (const NetworkUpdate& update : updates) {
      AdamWSettings adamw = plan_.adamw;
      adamw.learning_rate = update.learning_rate;
      settings.push_back({adamw_step(adamw, update.count), static_cast<float>(1.0 - update.ema)});
    }
    const Progress start{static_cast<unsigned long long>(first_step - 1), 0};
    upload(settings.data(), settings.size(), settings_);
    upload(&start, 1, progress_);
    draw_ends(updates.front().first_pairs, 0, stream_);
    for (std::size_t i = 0; i < updates.size(); ++i) {
      graph_of(updates[i], updates[std::min(i + 1, updates.size() - 1)]).launch(stream_);
    }
    std::vector<double> by_direction[2];
    for (std::size_t d = 0; d < 2; ++d) {
      by_direction[d].resize(losses.size());
      download(trained_[d].losses, losses.size(), by_direction[d].data());
    }
    for (std::size_t i = 0; i < losses.size(); ++i) {
      losses[i] = plan_.both_directions
                      ? 0.5 * (by_direction[0][i] + by_direction[1][i])
                      : by_direction[static_cast<std::size_t>(updates[i].direction)][i];
    }
  }

  NetworkTrainerPlan plan_;
  NetworkShape shape_;
  std::size_t rows_;
  std::array<DeviceSource, 2> sources_, first_sources_;  // of x0 and x1
  Memory memory_;
  EndsView ends_{};
  PinnedView pinned_{};
  UpdateSettings* settings_ = nullptr;
  Progress* progress_ = nullptr;
  std::array<Trained, 2> trained_;
  ClusterChain cluster_;
  ChainScratch chain_scratch_{};
  FiniteCheck finite_;
  std::array<Graph, 8> graphs_;
  Stream stream_, draw_stream_, second_stream_;
};

}  // namespace

std::unique_ptr<NetworkTrainer> CudaBackend::make_trainer(const Context& context,
                                                          NetworkTrainerPlan plan) const {
  require_device();
  return std::make_unique<CudaNetworkTrainer>(std::move(plan), context.device_sharers);
}

}  // namespace bridgemark::backend::cuda
