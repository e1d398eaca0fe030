#include <algorithm>
#include <memory>
#include <mutex>

#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/network/device_network.h"
#include "bridgemark/backend/cuda/runtime/placed.h"
#include "bridgemark/backend/cuda/runtime/stream.h"

// The operations of a fitted network on arrays of the host or of the device.
namespace bridgemark::backend::cuda {

namespace {

// Rows of one launch, so that `bytes` a row stay within 512 MiB.
std::size_t rows_per_launch(std::size_t bytes) {
  return std::max<std::size_t>(1, (std::size_t{1} << 29) / std::max<std::size_t>(bytes, 1));
}

// A network in device memory, with what its chains and its probabilities need of the reference:
// either is made when it is first asked for.
class FittedNetwork {
 public:
  explicit FittedNetwork(const NetworkTensors<float>& network)
      : shape_(network.shape), parameters_(memory_.upload(network.values)) {}

  const float* parameters() const { return parameters_; }

  struct Chain {
    StepTables tables{};
    ClusterChain cluster{};
    const float* step_table = nullptr;  // where clusters walk
  };
  const Chain& chain(const PinnedSteps& pinned) const {
    std::call_once(chain_once_, [&] {
      chain_.tables = upload_steps(memory_, pinned);
      if (chain_.tables.probabilities == nullptr) return;
      chain_.cluster = plan_cluster_chain(shape_, 0);
      if (chain_.cluster.blocks == 0) return;
      float* table = memory_.allocate<float>((static_cast<std::size_t>(shape_.num_steps) + 1) *
                                             shape_.layer_outputs(0));
      launch_step_table(shape_, parameters_, table, nullptr);
      BM_CUDA_CHECK(cudaStreamSynchronize(nullptr));  // it is read on any stream
      chain_.step_table = table;
    });
    return chain_;
  }

  const double* log_power(const ChainTables<float>& tables, int n) const {
    upload_powers(tables);
    return log_powers_ + (tables.log_power(n) - tables.log.data());
  }
  const float* linear_power(const ChainTables<float>& tables, int n) const {
    upload_powers(tables);
    return linear_powers_ + (tables.linear_power(n) - tables.linear.data());
  }

 private:
  void upload_powers(const ChainTables<float>& tables) const {
    std::call_once(powers_once_, [&] {
      log_powers_ = memory_.upload(tables.log);
      linear_powers_ = memory_.upload(tables.linear);
    });
  }

  NetworkShape shape_;
  mutable Memory memory_;
  const float* parameters_;
  mutable std::once_flag chain_once_, powers_once_;
  mutable Chain chain_;
  mutable const double* log_powers_ = nullptr;
  mutable const float* linear_powers_ = nullptr;
};

std::shared_ptr<const FittedNetwork> fitted(const NetworkTensors<float>& network,
                                            KeptTables* kept) {
  const auto make = [&] { return std::make_shared<const FittedNetwork>(network); };
  return kept != nullptr ? kept->get<FittedNetwork>(make) : make();
}

}  // namespace

void CudaBackend::sample_network_chain(const Context& context,
                                       const NetworkTensors<float>& parameters,
                                       const PinnedSteps& pinned, int steps_left, int num_steps,
                                       StatesView x, const DrawKey& key, std::uint64_t first_index,
                                       MutableStatesView out, NetworkWorkspace<float>&,
                                       KeptTables* kept) const {
  const auto stream = stream_of(context);
  const NetworkShape& shape = parameters.shape;
  const std::size_t D = shape.dim;
  const std::shared_ptr<const FittedNetwork> network = fitted(parameters, kept);
  const FittedNetwork::Chain& chain = network->chain(pinned);
  ChainJob job{};
  job.parameters = network->parameters();
  job.tables = chain.tables;
  job.step_table = chain.step_table;
  job.key = key;
  const bool fits = chain.cluster.blocks > 0;
  const std::size_t widest = fits ? 0 : widest_values(shape);
  const std::size_t part =
      std::min(rows_per_launch(2 * (widest * sizeof(float) + D * sizeof(std::int32_t))), x.rows);
  const Scratch<float> first_values(part * widest, stream), second_values(part * widest, stream);
  for (std::size_t first = 0; first < x.rows; first += part) {
    const std::size_t rows = std::min(part, x.rows - first);
    const Input<std::int32_t> from(x.row(first), rows * D, x.on_device, stream);
    Output<std::int32_t> to(out.row(first), rows * D, out.on_device, stream);
    job.from = from.get();
    job.to = to.get();
    job.first_index = first_index + first;
    const ChainSteps steps{steps_left, num_steps, rows, shape.reference_last_step};
    if (fits) {
      launch_cluster_chain(shape, chain.cluster, {&job, 1}, steps, stream);
    } else {
      launch_chain(shape, job, steps, {first_values.get(), second_values.get()}, stream);
    }
    to.finish();
  }
  // A network that is not kept is freed here, which waits for the device.
}

namespace {

// The logits of states in parts that fit the memory, `bytes` a row beside the network's values.
// use(first, rows, states, logits) makes of each part what is asked for.
template <typename Use>
void for_logits(const FittedNetwork& network, const NetworkShape& shape, int steps_left,
                StatesView x, std::size_t bytes, cudaStream_t stream, Use&& use) {
  const std::size_t D = shape.dim, widest = widest_values(shape);
  const std::size_t part = std::min(rows_per_launch(2 * widest * sizeof(float) + bytes), x.rows);
  const Scratch<float> even(part * widest, stream), odd(part * widest, stream);
  std::vector<float*> values;
  for (std::size_t l = 0; l <= shape.num_layers(); ++l) {
    values.push_back(l % 2 == 0 ? even.get() : odd.get());
  }
  for (std::size_t first = 0; first < x.rows; first += part) {
    const std::size_t rows = std::min(part, x.rows - first);
    const Input<std::int32_t> states(x.row(first), rows * D, x.on_device, stream);
    launch_inputs(shape, network.parameters(), states.get(), nullptr, steps_left, rows, values[0],
                  stream);
    launch_forward(shape, network.parameters(), rows, values, LayerProduct::kTensorCores, stream);
    use(first, rows, states.get(), values.back());
  }
}

}  // namespace

void CudaBackend::network_log_transition(const Context& context,
                                         const NetworkTensors<float>& parameters,
                                         const ChainTables<float>& chain, int steps_left,
                                         StatesView x, MatrixView<double> out,
                                         KeptTables* kept) const {
  const auto stream = stream_of(context);
  const NetworkShape& shape = parameters.shape;
  const std::size_t D = shape.dim, S = shape.num_categories;
  const std::shared_ptr<const FittedNetwork> network = fitted(parameters, kept);
  const double* log_one = network->log_power(chain, 1);
  const double* log_after = network->log_power(chain, steps_left - 1);
  for_logits(
      *network, shape, steps_left, x, D * S * sizeof(double), stream,
      [&](std::size_t first, std::size_t rows, const std::int32_t* states, const float* logits) {
        Output<double> result(out.row(first), rows * D * S, x.on_device, stream);
        launch_log_transition(static_cast<int>(D), static_cast<int>(S),
                              shape.is_softmax_step(steps_left), log_one, log_after, states, logits,
                              rows, result.get(), stream);
        result.finish();
      });
}

void CudaBackend::network_step_log_probability(const Context& context,
                                               const NetworkTensors<float>& parameters,
                                               const ChainTables<float>& chain, int steps_left,
                                               StatesView from, StatesView to, double* out,
                                               KeptTables* kept) const {
  const auto stream = stream_of(context);
  const NetworkShape& shape = parameters.shape;
  const std::size_t D = shape.dim, S = shape.num_categories;
  const std::shared_ptr<const FittedNetwork> network = fitted(parameters, kept);
  const StepPowers powers{network->log_power(chain, 1), network->log_power(chain, steps_left - 1),
                          network->log_power(chain, steps_left),
                          network->linear_power(chain, steps_left - 1),
                          network->linear_power(chain, steps_left)};
  for_logits(
      *network, shape, steps_left, from, D * (sizeof(double) + sizeof(std::int32_t)), stream,
      [&](std::size_t first, std::size_t rows, const std::int32_t* states, const float* logits) {
        const Input<std::int32_t> ends(to.row(first), rows * D, to.on_device, stream);
        const Scratch<double> of_coordinates(rows * D, stream);
        Output<double> result(out + first, rows, from.on_device, stream);
        launch_step_log_probability(static_cast<int>(D), static_cast<int>(S),
                                    shape.is_softmax_step(steps_left), powers, states, ends.get(),
                                    logits, rows, of_coordinates.get(), result.get(), stream);
        result.finish();
      });
}

}  // namespace bridgemark::backend::cuda
