#include <algorithm>

#include "bridgemark/backend/cuda/network/device_network.h"
#include "bridgemark/backend/cuda_ops.h"

// The operations of a fitted network on arrays of the host.
namespace bridgemark::backend::cuda {

namespace {

// Rows of one launch, so that `bytes` a row stay within 512 MiB.
std::size_t rows_per_launch(std::size_t bytes) {
  return std::max<std::size_t>(1, (std::size_t{1} << 29) / std::max<std::size_t>(bytes, 1));
}

// The tables of the steps that a chain takes, at the places where they lie in the whole ones.
StepTables upload_used(Memory& memory, const PinnedSteps& pinned, int first_left, int last_left) {
  const std::size_t S = pinned.chain.num_categories, square = S * S;
  // Whole tables where a step is made from its logarithms, else what is used of the others.
  if (pinned.probabilities.empty()) return upload_steps(memory, pinned);
  const auto part = [&]<typename T>(const std::vector<T>& table, std::size_t first,
                                    std::size_t count) -> const T* {
    T* values = memory.upload(table.data() + first, count);
    return values - first;
  };
  const auto low = static_cast<std::size_t>(first_left), high = static_cast<std::size_t>(last_left);
  StepTables tables{};
  tables.log_powers = part(pinned.log_powers, low * square, (high - low + 1) * square);
  tables.probabilities =
      part(pinned.probabilities, (low - 1) * S * square, (high - low + 1) * S * square);
  return tables;
}

}  // namespace

void sample_network_chain(const NetworkTensors<float>& parameters, const PinnedSteps& pinned,
                          int steps_left, int num_steps, StatesView x, const DrawKey& key,
                          std::uint64_t first_index, MutableStatesView out) {
  const NetworkShape& shape = parameters.shape;
  const std::size_t D = shape.dim;
  Memory memory;
  ChainJob job{};
  job.parameters = memory.upload(parameters.values);
  job.tables = upload_used(memory, pinned, steps_left - num_steps + 1, steps_left);
  job.key = key;
  const ClusterChain cluster =
      job.tables.probabilities != nullptr ? plan_cluster_chain(shape, 0) : ClusterChain{};
  const bool fits = cluster.blocks > 0;
  const std::size_t widest = fits ? 0 : widest_values(shape);
  const std::size_t chunk =
      std::min(rows_per_launch(2 * (widest * sizeof(float) + D * sizeof(std::int32_t))), x.rows);
  const ChainScratch scratch{memory.allocate<float>(chunk * widest),
                             memory.allocate<float>(chunk * widest)};
  std::int32_t *from = memory.allocate<std::int32_t>(chunk * D),
               *to = memory.allocate<std::int32_t>(chunk * D);
  if (fits) {
    float* table = memory.allocate<float>((static_cast<std::size_t>(shape.num_steps) + 1) *
                                          shape.layer_outputs(0));
    launch_step_table(shape, job.parameters, table, nullptr);
    job.step_table = table;
  }
  job.from = from;
  job.to = to;
  for (std::size_t first = 0; first < x.rows; first += chunk) {
    const std::size_t rows = std::min(chunk, x.rows - first), bytes = rows * D * sizeof(*from);
    BM_CUDA_CHECK(cudaMemcpy(from, x.row(first), bytes, cudaMemcpyHostToDevice));
    job.first_index = first_index + first;
    const ChainSteps steps{steps_left, num_steps, rows, shape.reference_last_step};
    if (fits) {
      launch_cluster_chain(shape, cluster, {&job, 1}, steps, nullptr);
    } else {
      launch_chain(shape, job, steps, scratch, nullptr);
    }
    BM_CUDA_CHECK(cudaMemcpy(out.row(first), to, bytes, cudaMemcpyDeviceToHost));
  }
}

void network_log_transition(const NetworkTensors<float>& parameters,
                            const ChainTables<float>& chain, int steps_left, StatesView x,
                            Array3<double>& out) {
  const NetworkShape& shape = parameters.shape;
  const std::size_t D = shape.dim, S = shape.num_categories;
  Memory memory;
  const float* network = memory.upload(parameters.values);
  const double* log_one = memory.upload(chain.log_power(1), S * S);
  const double* log_after = memory.upload(chain.log_power(steps_left - 1), S * S);
  const std::size_t widest = widest_values(shape);
  const std::size_t chunk =
      std::min(rows_per_launch(2 * widest * sizeof(float) + D * S * sizeof(double)), x.rows);
  float* buffers[2] = {memory.allocate<float>(chunk * widest),
                       memory.allocate<float>(chunk * widest)};
  auto* states = memory.allocate<std::int32_t>(chunk * D);
  auto* result = memory.allocate<double>(chunk * D * S);
  std::vector<float*> values;
  for (std::size_t l = 0; l <= shape.num_layers(); ++l) values.push_back(buffers[l % 2]);
  for (std::size_t first = 0; first < x.rows; first += chunk) {
    const std::size_t rows = std::min(chunk, x.rows - first);
    BM_CUDA_CHECK(
        cudaMemcpy(states, x.row(first), rows * D * sizeof(*states), cudaMemcpyHostToDevice));
    launch_inputs(shape, network, states, nullptr, steps_left, rows, values[0], nullptr);
    launch_forward(shape, network, rows, values, nullptr);
    launch_log_transition(static_cast<int>(D), static_cast<int>(S),
                          shape.is_softmax_step(steps_left), log_one, log_after, states,
                          values.back(), rows, result, nullptr);
    BM_CUDA_CHECK(cudaMemcpy(out.row(first, 0), result, rows * D * S * sizeof(double),
                             cudaMemcpyDeviceToHost));
  }
}

}  // namespace bridgemark::backend::cuda
