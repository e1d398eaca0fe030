#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bridgemark/backend/common/bridge_step.h"
#include "bridgemark/backend/network_training.h"
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
void bridge_step_marginals(const BridgeStep& step, StatesView x, Array3<double>& out);
void sample_bridge_step(const BridgeStep& step, StatesView x, const DrawKey& key,
                        std::uint64_t first_index, MutableStatesView out);
void sample_product_rows(const ScaledRows& left, const ScaledRows& right, StatesView left_rows,
                         StatesView right_rows, const DrawKey& key, std::uint64_t first_index,
                         MutableStatesView out);
std::unique_ptr<PairSampler> make_pair_sampler(const RowSource& source);
std::unique_ptr<CpTrainer> make_cp_trainer(CpTrainerPlan plan);
std::unique_ptr<NetworkTrainer> make_network_trainer(NetworkTrainerPlan plan);
void sample_network_chain(const NetworkTensors<float>& parameters, const PinnedSteps& pinned,
                          int steps_left, int num_steps, StatesView x, const DrawKey& key,
                          std::uint64_t first_index, MutableStatesView out);
void network_log_transition(const NetworkTensors<float>& parameters,
                            const ChainTables<float>& chain, int steps_left, StatesView x,
                            Array3<double>& out);

}  // namespace bridgemark::backend::cuda
