#include "bridgemark/backend/ops.h"

#include <utility>

#include "bridgemark/backend/cpu/ops.h"
#include "bridgemark/backend/cuda_ops.h"
#include "bridgemark/backend/trainer.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/resources.h"

// Sends each operation to the kernels of the context's device.
namespace bridgemark::backend {

void require_device(const Context& context) {
  if (context.device == Device::kCuda) cuda::require_device();
}

std::string machine_of(const Context& context) {
  if (context.device == Device::kCpu) return machine_description();
  return machine_description() + ", " + cuda::device_description();
}

void log_matmul(const Context& context, MatrixView<const double> a, MatrixView<const double> b,
                MatrixView<double> out) {
  if (context.device == Device::kCuda) return cuda::log_matmul(a, b, out);
  cpu::log_matmul(context, a, b, out);
}

void propagate_cores(const Context& context, MatrixView<const double> log_q,
                     const Array3<double>& log_cores, Array3<double>& out) {
  if (context.device == Device::kCuda) return cuda::propagate_cores(log_q, log_cores, out);
  cpu::propagate_cores(context, log_q, log_cores, out);
}

void propagate_cores_rank_one(const Context& context, double log_identity, double log_uniform,
                              const Array3<double>& log_cores, Array3<double>& out) {
  if (context.device == Device::kCuda) {
    return cuda::propagate_cores_rank_one(log_identity, log_uniform, log_cores, out);
  }
  cpu::propagate_cores_rank_one(context, log_identity, log_uniform, log_cores, out);
}

void log_mixture(const Context& context, std::span<const double> log_beta,
                 const Array3<double>& log_u, StatesView x, std::span<double> out) {
  if (context.device == Device::kCuda) return cuda::log_mixture(log_beta, log_u, x, out);
  cpu::log_mixture(context, log_beta, log_u, x, out);
}

void log_chain(const Context& context, std::span<const double> log_start,
               const Array3<double>& log_moves, const Array3<double>& log_u, StatesView x,
               std::span<double> out) {
  if (context.device == Device::kCuda) {
    return cuda::log_chain(log_start, log_moves, log_u, x, out);
  }
  cpu::log_chain(context, log_start, log_moves, log_u, x, out);
}

void bridge_step_marginals(const Context& context, const BridgeStep& step, StatesView x,
                           Array3<double>& out) {
  if (context.device == Device::kCuda) return cuda::bridge_step_marginals(step, x, out);
  cpu::bridge_step_marginals(context, step, x, out);
}

void sample_bridge_step(const Context& context, const BridgeStep& step, StatesView x,
                        const DrawKey& key, std::uint64_t first_index, MutableStatesView out) {
  if (context.device == Device::kCuda) {
    return cuda::sample_bridge_step(step, x, key, first_index, out);
  }
  cpu::sample_bridge_step(context, step, x, key, first_index, out);
}

void sample_product_rows(const Context& context, const ScaledRows& left, const ScaledRows& right,
                         StatesView left_rows, StatesView right_rows, const DrawKey& key,
                         std::uint64_t first_index, MutableStatesView out) {
  if (context.device == Device::kCuda) {
    return cuda::sample_product_rows(left, right, left_rows, right_rows, key, first_index, out);
  }
  cpu::sample_product_rows(context, left, right, left_rows, right_rows, key, first_index, out);
}

std::unique_ptr<PairSampler> make_pair_sampler(const Context& context, const RowSource& source) {
  if (context.device == Device::kCuda) return cuda::make_pair_sampler(source);
  throw DeviceError(fmt::format("[backend] device of a pair sampler must be cuda, got {}",
                                device_name(context.device)));
}

std::unique_ptr<CpTrainer> make_trainer(const Context& context, CpTrainerPlan plan) {
  if (context.device == Device::kCuda) return cuda::make_cp_trainer(std::move(plan));
  return cpu::make_cp_trainer(context, std::move(plan));
}

std::unique_ptr<NetworkTrainer> make_trainer(const Context& context, NetworkTrainerPlan plan) {
  if (context.device == Device::kCuda) return cuda::make_network_trainer(std::move(plan));
  return cpu::make_network_trainer(context, std::move(plan));
}

void sample_network_chain(const Context& context, const NetworkTensors<float>& parameters,
                          const PinnedSteps& pinned, int steps_left, int num_steps, StatesView x,
                          const DrawKey& key, std::uint64_t first_index, MutableStatesView out,
                          NetworkWorkspace<float>& workspace) {
  if (context.device == Device::kCuda) {
    return cuda::sample_network_chain(parameters, pinned, steps_left, num_steps, x, key,
                                      first_index, out);
  }
  cpu::sample_network_chain(context, parameters, pinned, steps_left, num_steps, x, key, first_index,
                            out, workspace);
}

void network_log_transition(const Context& context, const NetworkTensors<float>& parameters,
                            const ChainTables<float>& chain, int steps_left, StatesView x,
                            Array3<double>& out) {
  out = Array3<double>(x.rows, parameters.shape.dim, parameters.shape.num_categories);
  if (context.device == Device::kCuda) {
    return cuda::network_log_transition(parameters, chain, steps_left, x, out);
  }
  cpu::network_log_transition(context, parameters, chain, steps_left, x, out);
}

}  // namespace bridgemark::backend
