#include "bridgemark/backend/ops.h"

#include <utility>

#include "bridgemark/backend/cpu/ops.h"
#include "bridgemark/backend/cuda_ops.h"
#include "bridgemark/backend/device_memory.h"
#include "bridgemark/backend/device_scores.h"
#include "bridgemark/backend/plan/row_kernel.h"
#include "bridgemark/backend/trainer.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/resources.h"

// Sends each operation to the kernels of the context's device.
namespace bridgemark::backend {

namespace {

[[noreturn]] void throw_not_on_device(const Context& context) {
  throw DeviceError(
      fmt::format("[backend] device of arrays outside host memory must be cuda, got {}",
                  device_name(context.device)));
}

}  // namespace

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

BridgeStep make_device_step(const Context& context, const StepPlan& plan) {
  if (context.device != Device::kCuda) throw_not_on_device(context);
  return cuda::make_device_step(plan);
}

void bridge_step_marginals(const Context& context, const BridgeStep& step, StatesView x,
                           double* out) {
  if (context.device == Device::kCuda) {
    return cuda::bridge_step_marginals(step, x, out, context.stream);
  }
  cpu::bridge_step_marginals(context, step, x, out);
}

void add_bridge_step_kl(const Context& context, const BridgeStep& p, const BridgeStep& q,
                        StatesView x, double* kl) {
  cpu::add_bridge_step_kl(context, p, q, x, kl);
}

void sample_bridge_step(const Context& context, const BridgeStep& step, StatesView x,
                        const DrawKey& key, std::uint64_t first_index, MutableStatesView out) {
  if (context.device == Device::kCuda) {
    return cuda::sample_bridge_step(step, x, key, first_index, out, context.stream);
  }
  cpu::sample_bridge_step(context, step, x, key, first_index, out);
}

void bridge_step_log_probability(const Context& context, const BridgeStep& step, StatesView from,
                                 StatesView to, double* out) {
  if (context.device != Device::kCuda) throw_not_on_device(context);
  cuda::bridge_step_log_probability(step, from, to, out, context.stream);
}

void sample_product_rows(const Context& context, const ScaledRows& left, const ScaledRows& right,
                         StatesView left_rows, StatesView right_rows, const DrawKey& key,
                         std::uint64_t first_index, MutableStatesView out) {
  if (context.device == Device::kCuda) {
    return cuda::sample_product_rows(left, right, left_rows, right_rows, key, first_index, out,
                                     context.stream);
  }
  cpu::sample_product_rows(context, left, right, left_rows, right_rows, key, first_index, out);
}

std::unique_ptr<RowKernel> make_row_kernel(const Context& context, MatrixView<const double> log_k,
                                           StatesView x0, StatesView x1) {
  if (context.device == Device::kCuda) return cuda::make_row_kernel(log_k, x0, x1);
  return cpu::make_row_kernel(log_k, x0, x1);
}

void sample_weighted_rows(const Context& context, const WeightedRows& weighted, StatesView x0,
                          const DrawKey& key, std::uint64_t first_index, MutableStatesView out) {
  if (context.device == Device::kCuda) {
    return cuda::sample_weighted_rows(context, weighted, x0, key, first_index, out);
  }
  cpu::sample_weighted_rows(context, weighted, x0, key, first_index, out);
}

void weighted_row_marginals(const Context& context, const WeightedRows& weighted, StatesView x0,
                            double* out) {
  if (context.device == Device::kCuda) {
    return cuda::weighted_row_marginals(context, weighted, x0, out);
  }
  cpu::weighted_row_marginals(context, weighted, x0, out);
}

std::unique_ptr<RowSampler> make_row_sampler(const Context& context, const RowSource& source) {
  if (context.device != Device::kCuda) throw_not_on_device(context);
  return cuda::make_row_sampler(source);
}

std::shared_ptr<void> allocate_memory(const Context& context, std::size_t bytes) {
  if (context.device != Device::kCuda) throw_not_on_device(context);
  return cuda::allocate_memory(bytes);
}

void copy_memory(const Context& context, const void* from, void* to, std::size_t bytes) {
  if (context.device != Device::kCuda) throw_not_on_device(context);
  cuda::copy_memory(from, to, bytes, context.stream);
}

void take_states(const Context& context, std::string_view name, const DeviceIntegers& given,
                 int num_categories, MutableStatesView out) {
  if (context.device != Device::kCuda) throw_not_on_device(context);
  cuda::take_states(name, given, num_categories, out, context.stream);
}

Matrix<std::int64_t> count_columns(const Context& context, StatesView x, int num_categories) {
  if (context.device != Device::kCuda) throw_not_on_device(context);
  return cuda::count_columns(x, num_categories, context.stream);
}

std::vector<std::int64_t> pair_differences(const Context& context, const ComparedStates& states) {
  if (context.device != Device::kCuda) throw_not_on_device(context);
  return cuda::pair_differences(states, context.stream);
}

RowSigns row_signs(const Context& context, StatesView truth, StatesView prediction,
                   int num_categories) {
  if (context.device != Device::kCuda) throw_not_on_device(context);
  return cuda::row_signs(truth, prediction, num_categories, context.stream);
}

void add_step_kl(const Context& context, const double* log_p, const double* log_q, std::size_t rows,
                 std::size_t dim, std::size_t num_categories, double* kl) {
  if (context.device == Device::kCuda) {
    return cuda::add_step_kl(log_p, log_q, rows, dim, num_categories, kl, context.stream);
  }
  cpu::add_step_kl(context, log_p, log_q, rows, dim, num_categories, kl);
}

void step_log_probability(const Context& context, const double* log_p, StatesView to,
                          std::size_t num_categories, double* out) {
  if (context.device == Device::kCuda) {
    return cuda::step_log_probability(log_p, to, num_categories, out, context.stream);
  }
  cpu::step_log_probability(context, log_p, to, num_categories, out);
}

void take_rows(const Context& context, StatesView x, std::span<const std::uint32_t> rows,
               MutableStatesView out) {
  if (x.on_device) {
    if (context.device != Device::kCuda) throw_not_on_device(context);
    return cuda::take_rows(x, rows, out, context.stream);
  }
  cpu::take_rows(context, x, rows, out);
}

std::unique_ptr<CpTrainer> make_trainer(const Context& context, CpTrainerPlan plan) {
  if (context.device == Device::kCuda) return cuda::make_cp_trainer(context, std::move(plan));
  return cpu::make_cp_trainer(context, std::move(plan));
}

std::unique_ptr<NetworkTrainer> make_trainer(const Context& context, NetworkTrainerPlan plan) {
  if (context.device == Device::kCuda) {
    return cuda::make_network_trainer(std::move(plan), context.device_sharers);
  }
  return cpu::make_network_trainer(context, std::move(plan));
}

void sample_network_chain(const Context& context, const NetworkTensors<float>& parameters,
                          const PinnedSteps& pinned, int steps_left, int num_steps, StatesView x,
                          const DrawKey& key, std::uint64_t first_index, MutableStatesView out,
                          NetworkWorkspace<float>& workspace, KeptTables* kept) {
  if (context.device == Device::kCuda) {
    return cuda::sample_network_chain(parameters, pinned, steps_left, num_steps, x, key,
                                      first_index, out, kept, context.stream);
  }
  cpu::sample_network_chain(context, parameters, pinned, steps_left, num_steps, x, key, first_index,
                            out, workspace);
}

void network_log_transition(const Context& context, const NetworkTensors<float>& parameters,
                            const ChainTables<float>& chain, int steps_left, StatesView x,
                            double* out, KeptTables* kept) {
  if (context.device == Device::kCuda) {
    return cuda::network_log_transition(parameters, chain, steps_left, x, out, kept,
                                        context.stream);
  }
  cpu::network_log_transition(context, parameters, chain, steps_left, x, out);
}

void network_log_transition(const Context& context, const NetworkTensors<float>& parameters,
                            const ChainTables<float>& chain, int steps_left, StatesView x,
                            Array3<double>& out) {
  out = Array3<double>(x.rows, parameters.shape.dim, parameters.shape.num_categories);
  network_log_transition(context, parameters, chain, steps_left, x, out.data());
}

void network_step_log_probability(const Context& context, const NetworkTensors<float>& parameters,
                                  const ChainTables<float>& chain, int steps_left, StatesView from,
                                  StatesView to, double* out, KeptTables* kept) {
  if (context.device == Device::kCuda) {
    return cuda::network_step_log_probability(parameters, chain, steps_left, from, to, out, kept,
                                              context.stream);
  }
  cpu::network_step_log_probability(context, parameters, chain, steps_left, from, to, out);
}

}  // namespace bridgemark::backend
