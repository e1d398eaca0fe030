#pragma once

#include "bridgemark/backend/backend.h"

namespace bridgemark::backend::cuda {

// A GPU of NVIDIA. Each operation is defined in the file that launches its kernels, those of the
// device itself in runtime/; backend.h says what it does.
class CudaBackend : public Backend {
 public:
  CudaBackend() : Backend(Device::kCuda) {}

  void require_device() const override;
  std::string machine() const override;
  Facts facts() const override;
  std::size_t memory_in_use() const override;
  std::shared_ptr<void> allocate_memory(std::size_t bytes) const override;
  void copy_memory(const Context& context, const void* from, void* to,
                   std::size_t bytes) const override;
  void take_states(const Context& context, std::string_view name, const DeviceIntegers& given,
                   int num_categories, MutableStatesView out) const override;
  void take_rows(const Context& context, StatesView x, std::span<const std::uint32_t> rows,
                 MutableStatesView out) const override;
  void log_matmul(const Context& context, MatrixView<const double> a, MatrixView<const double> b,
                  MatrixView<double> out) const override;
  void propagate_cores(const Context& context, MatrixView<const double> log_q,
                       const Array3<double>& log_cores, Array3<double>& out) const override;
  void propagate_cores_rank_one(const Context& context, double log_identity, double log_uniform,
                                const Array3<double>& log_cores,
                                Array3<double>& out) const override;
  void log_mixture(const Context& context, std::span<const double> log_beta,
                   const Array3<double>& log_u, StatesView x, std::span<double> out) const override;
  void log_chain(const Context& context, std::span<const double> log_start,
                 const Array3<double>& log_moves, const Array3<double>& log_u, StatesView x,
                 std::span<double> out) const override;
  void log_tree(const Context& context, const TreeShape& shape, std::span<const double> log_root,
                const Array3<double>& log_moves, const Array3<double>& log_u, StatesView x,
                std::span<double> out) const override;
  BridgeStep make_device_step(const Context& context, const StepPlan& plan) const override;
  void bridge_step_marginals(const Context& context, const BridgeStep& step, StatesView x,
                             MatrixView<double> out) const override;
  void bridge_step_log_probability(const Context& context, const BridgeStep& step, StatesView from,
                                   StatesView to, double* out) const override;
  void sample_bridge_step(const Context& context, const BridgeStep& step, StatesView x,
                          const DrawKey& key, std::uint64_t first_index,
                          MutableStatesView out) const override;
  void sample_product_rows(const Context& context, const ScaledRows& left, const ScaledRows& right,
                           StatesView left_rows, StatesView right_rows, const DrawKey& key,
                           std::uint64_t first_index, MutableStatesView out) const override;
  std::unique_ptr<RowSampler> make_row_sampler(const Context& context,
                                               const RowSource& source) const override;
  std::unique_ptr<RowKernel> make_row_kernel(const Context& context, MatrixView<const double> log_k,
                                             StatesView x0, StatesView x1) const override;
  void sample_weighted_rows(const Context& context, const WeightedRows& weighted, StatesView x0,
                            const DrawKey& key, std::uint64_t first_index,
                            MutableStatesView out) const override;
  void weighted_row_marginals(const Context& context, const WeightedRows& weighted, StatesView x0,
                              MatrixView<double> out) const override;
  std::unique_ptr<CpTrainer> make_trainer(const Context& context,
                                          CpTrainerPlan plan) const override;
  std::unique_ptr<NetworkTrainer> make_trainer(const Context& context,
                                               NetworkTrainerPlan plan) const override;
  void sample_network_chain(const Context& context, const NetworkTensors<float>& parameters,
                            const PinnedSteps& pinned, int steps_left, int num_steps, StatesView x,
                            const DrawKey& key, std::uint64_t first_index, MutableStatesView out,
                            NetworkWorkspace<float>& workspace, KeptTables* kept) const override;
  void network_log_transition(const Context& context, const NetworkTensors<float>& parameters,
                              const ChainTables<float>& chain, int steps_left, StatesView x,
                              MatrixView<double> out, KeptTables* kept) const override;
  void network_step_log_probability(const Context& context, const NetworkTensors<float>& parameters,
                                    const ChainTables<float>& chain, int steps_left,
                                    StatesView from, StatesView to, double* out,
                                    KeptTables* kept) const override;
  void add_step_kl(const Context& context, const double* log_p, const double* log_q,
                   std::size_t rows, std::size_t dim, std::size_t num_categories,
                   double* kl) const override;
  void step_log_probability(const Context& context, const double* log_p, StatesView to,
                            std::size_t num_categories, double* out) const override;
  Matrix<std::int64_t> count_columns(const Context& context, StatesView x,
                                     int num_categories) const override;
  std::vector<std::int64_t> pair_differences(const Context& context,
                                             const ComparedStates& states) const override;
  RowSigns row_signs(const Context& context, StatesView truth, StatesView prediction,
                     int num_categories) const override;
};

}  // namespace bridgemark::backend::cuda
