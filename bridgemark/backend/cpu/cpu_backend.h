#pragma once

#include "bridgemark/backend/backend.h"

namespace bridgemark::backend::cpu {

// The CPU. Each operation is defined in the file that computes it; backend.h says what it does.
class CpuBackend : public Backend {
 public:
  CpuBackend() : Backend(Device::kCpu) {}

  std::string machine() const override;
  Facts facts() const override;
  void take_rows(const Context& context, StatesView x, std::span<const std::uint32_t> rows,
                 MutableStatesView out) const override;
  void log_matmul(const Context& context, MatrixView<const double> a, MatrixView<const double> b,
                  MatrixView<double> out) const override;
  void propagate_cores(const Context& context, MatrixView<const double> log_q,
                       const Array3<double>& log_cores, Array3<double>& out) const override;
  void propagate_cores_factored(const Context& context, const FactoredPower& q,
                                const Array3<double>& log_cores,
                                Array3<double>& out) const override;
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
  void bridge_step_marginals(const Context& context, const BridgeStep& step, StatesView x,
                             MatrixView<double> out) const override;
  void add_bridge_step_kl(const Context& context, const BridgeStep& p, const BridgeStep& q,
                          StatesView x, double* kl) const override;
  void sample_bridge_step(const Context& context, const BridgeStep& step, StatesView x,
                          const DrawKey& key, std::uint64_t first_index,
                          MutableStatesView out) const override;
  void sample_product_rows(const Context& context, const ScaledRows& left, const ScaledRows& right,
                           StatesView left_rows, StatesView right_rows, const DrawKey& key,
                           std::uint64_t first_index, MutableStatesView out) const override;
  void draw_independent_rows(const Context& context, MatrixView<const double> cumulative,
                             std::span<const double> components, const DrawKey& key,
                             std::uint64_t first_index, MutableStatesView out) const override;
  void draw_observed_rows(const Context& context, StatesView observed, const DrawKey& key,
                          std::uint64_t first_index, MutableStatesView out) const override;
  void draw_rows(const Context& context, const RowSource& source, std::uint64_t first_index,
                 MutableStatesView out) const override;
  void draw_points(const Context& context, const PinnedRows& pinned, StatesView x0, StatesView x1,
                   std::span<const std::int32_t> times, std::uint64_t first_index,
                   MutableStatesView out) const override;
  void couple_rows(const Context& context, const RowCoupling& coupling, StatesView x0,
                   std::uint64_t first_index, MutableStatesView x1) const override;
  NetworkPoints draw_network_points(const Context& context, const PinnedRows& pinned, int direction,
                                    StatesView x0, StatesView x1, std::size_t points,
                                    std::uint64_t first_index) const override;
  std::unique_ptr<RowKernel> make_row_kernel(const Context& context, MatrixView<const double> log_k,
                                             StatesView x0, StatesView x1) const override;
  void sample_weighted_rows(const Context& context, const WeightedRows& weighted, StatesView x0,
                            const DrawKey& key, std::uint64_t first_index,
                            MutableStatesView out) const override;
  void weighted_row_marginals(const Context& context, const WeightedRows& weighted, StatesView x0,
                              MatrixView<double> out) const override;
  double static_loss(const Context& context, const CpTensors<float>& parameters,
                     const ChainTables<float>& chain, StatesView x0, StatesView x1,
                     CpTensors<float>& gradient, CpWorkspace<float>& workspace,
                     std::span<double> log_c, std::span<double> log_v) const override;
  double static_loss(const Context& context, const CpTensors<double>& parameters,
                     const ChainTables<double>& chain, StatesView x0, StatesView x1,
                     CpTensors<double>& gradient, CpWorkspace<double>& workspace,
                     std::span<double> log_c, std::span<double> log_v) const override;
  double chain_loss(const Context& context, const CpTensors<float>& parameters,
                    const ChainTables<float>& reference, StatesView x0, StatesView x1,
                    CpTensors<float>& gradient, ChainWorkspace<float>& workspace,
                    std::span<double> log_c, std::span<double> log_v) const override;
  double chain_loss(const Context& context, const CpTensors<double>& parameters,
                    const ChainTables<double>& reference, StatesView x0, StatesView x1,
                    CpTensors<double>& gradient, ChainWorkspace<double>& workspace,
                    std::span<double> log_c, std::span<double> log_v) const override;
  double tree_loss(const Context& context, const CpTensors<float>& parameters,
                   const ChainTables<float>& reference, StatesView x0, StatesView x1,
                   CpTensors<float>& gradient, TreeWorkspace<float>& workspace,
                   std::span<double> log_c, std::span<double> log_v) const override;
  double tree_loss(const Context& context, const CpTensors<double>& parameters,
                   const ChainTables<double>& reference, StatesView x0, StatesView x1,
                   CpTensors<double>& gradient, TreeWorkspace<double>& workspace,
                   std::span<double> log_c, std::span<double> log_v) const override;
  double matching_loss(const Context& context, const CpTensors<float>& parameters,
                       const ChainTables<float>& chain, MatchingLoss kind, StatesView x_n,
                       StatesView x1, std::span<const std::int32_t> n, CpTensors<float>& gradient,
                       CpWorkspace<float>& workspace, std::span<double> log_model,
                       std::span<double> target) const override;
  double matching_loss(const Context& context, const CpTensors<double>& parameters,
                       const ChainTables<double>& chain, MatchingLoss kind, StatesView x_n,
                       StatesView x1, std::span<const std::int32_t> n, CpTensors<double>& gradient,
                       CpWorkspace<double>& workspace, std::span<double> log_model,
                       std::span<double> target) const override;
  double network_loss(const Context& context, const NetworkTensors<float>& parameters,
                      const ChainTables<float>& chain, MatchingLoss kind, StatesView x,
                      StatesView clean, std::span<const std::int32_t> steps_left,
                      NetworkTensors<float>& gradient, NetworkWorkspace<float>& workspace,
                      const NetworkLossOutputs& outputs) const override;
  double network_loss(const Context& context, const NetworkTensors<double>& parameters,
                      const ChainTables<double>& chain, MatchingLoss kind, StatesView x,
                      StatesView clean, std::span<const std::int32_t> steps_left,
                      NetworkTensors<double>& gradient, NetworkWorkspace<double>& workspace,
                      const NetworkLossOutputs& outputs) const override;
  void network_row_losses(const Context& context, const NetworkTensors<float>& parameters,
                          const ChainTables<float>& chain, MatchingLoss kind, StatesView x,
                          StatesView clean, std::span<const std::int32_t> steps_left,
                          NetworkWorkspace<float>& workspace, std::span<double> out) const override;
  std::unique_ptr<CpTrainer> make_trainer(const Context& context,
                                          CpTrainerPlan plan) const override;
  std::unique_ptr<NetworkTrainer> make_trainer(const Context& context,
                                               NetworkTrainerPlan plan) const override;
  void adamw_update(const Context& context, const AdamWSettings& settings, std::int64_t step,
                    std::span<const float> gradient, std::span<float> parameters,
                    std::span<float> first_moment, std::span<float> second_moment) const override;
  void average_update(const Context& context, double share, std::span<const float> parameters,
                      std::span<float> average) const override;
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
};

}  // namespace bridgemark::backend::cpu
