#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/backend/device_memory.h"
#include "bridgemark/backend/device_scores.h"
#include "bridgemark/backend/plan/bridge_step.h"
#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/backend/plan/row_kernel.h"
#include "bridgemark/backend/trainer.h"
#include "bridgemark/core/array.h"
#include "bridgemark/math/philox.h"

// The operations of ops.h and network_training.h, and the trainers, on a CUDA device. Defined in
// cuda/, or in no_cuda/ where the build has no CUDA: there each of them throws DeviceError.
namespace bridgemark::backend::cuda {

void require_device();
std::string device_description();  // the GPU's own name
std::size_t memory_in_use();       // bytes of the device, by anybody
void log_matmul(MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> out);
void propagate_cores(MatrixView<const double> log_q, const Array3<double>& log_cores,
                     Array3<double>& out);
void propagate_cores_rank_one(double log_identity, double log_uniform,
                              const Array3<double>& log_cores, Array3<double>& out);
void log_mixture(std::span<const double> log_beta, const Array3<double>& log_u, StatesView x,
                 std::span<double> out);
void log_chain(std::span<const double> log_start, const Array3<double>& log_moves,
               const Array3<double>& log_u, StatesView x, std::span<double> out);
BridgeStep make_device_step(const StepPlan& plan);
void bridge_step_marginals(const BridgeStep& step, StatesView x, double* out, void* stream);
void bridge_step_log_probability(const BridgeStep& step, StatesView from, StatesView to,
                                 double* out, void* stream);
void sample_bridge_step(const BridgeStep& step, StatesView x, const DrawKey& key,
                        std::uint64_t first_index, MutableStatesView out, void* stream);
void sample_product_rows(const ScaledRows& left, const ScaledRows& right, StatesView left_rows,
                         StatesView right_rows, const DrawKey& key, std::uint64_t first_index,
                         MutableStatesView out, void* stream);
std::unique_ptr<RowKernel> make_row_kernel(MatrixView<const double> log_k, StatesView x0,
                                           StatesView x1);
void sample_weighted_rows(const Context& context, const WeightedRows& weighted, StatesView x0,
                          const DrawKey& key, std::uint64_t first_index, MutableStatesView out);
void weighted_row_marginals(const Context& context, const WeightedRows& weighted, StatesView x0,
                            double* out);
std::unique_ptr<RowSampler> make_row_sampler(const RowSource& source);
std::shared_ptr<void> allocate_memory(std::size_t bytes);
void copy_memory(const void* from, void* to, std::size_t bytes, void* stream);
void take_states(std::string_view name, const DeviceIntegers& given, int num_categories,
                 MutableStatesView out, void* stream);
Matrix<std::int64_t> count_columns(StatesView x, int num_categories, void* stream);
std::vector<std::int64_t> pair_differences(const ComparedStates& states, void* stream);
RowSigns row_signs(StatesView truth, StatesView prediction, int num_categories, void* stream);
void add_step_kl(const double* log_p, const double* log_q, std::size_t rows, std::size_t dim,
                 std::size_t num_categories, double* kl, void* stream);
void step_log_probability(const double* log_p, StatesView to, std::size_t num_categories,
                          double* out, void* stream);
void take_rows(StatesView x, std::span<const std::uint32_t> rows, MutableStatesView out,
               void* stream);
std::unique_ptr<CpTrainer> make_cp_trainer(const Context& context, CpTrainerPlan plan);
std::unique_ptr<NetworkTrainer> make_network_trainer(NetworkTrainerPlan plan, int sharers);
void sample_network_chain(const NetworkTensors<float>& parameters, const PinnedSteps& pinned,
                          int steps_left, int num_steps, StatesView x, const DrawKey& key,
                          std::uint64_t first_index, MutableStatesView out, KeptTables* kept,
                          void* stream);
void network_log_transition(const NetworkTensors<float>& parameters,
                            const ChainTables<float>& chain, int steps_left, StatesView x,
                            double* out, KeptTables* kept, void* stream);
void network_step_log_probability(const NetworkTensors<float>& parameters,
                                  const ChainTables<float>& chain, int steps_left, StatesView from,
                                  StatesView to, double* out, KeptTables* kept, void* stream);

}  // namespace bridgemark::backend::cuda
