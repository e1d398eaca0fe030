#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>

#include "bridgemark/backend/plan/bridge_step.h"
#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/backend/plan/row_kernel.h"
#include "bridgemark/backend/trainer.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/math/philox.h"

// The operations of backend/ops.h and of a fitted network (backend/plan/network_steps.h) on the
// CPU; the comments there define them.
namespace bridgemark::backend::cpu {

inline bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

void log_matmul(const Context& context, MatrixView<const double> a, MatrixView<const double> b,
                MatrixView<double> out);
void propagate_cores(const Context& context, MatrixView<const double> log_q,
                     const Array3<double>& log_cores, Array3<double>& out);
void propagate_cores_rank_one(const Context& context, double log_identity, double log_uniform,
                              const Array3<double>& log_cores, Array3<double>& out);
void log_mixture(const Context& context, std::span<const double> log_beta,
                 const Array3<double>& log_u, StatesView x, std::span<double> out);
void log_chain(const Context& context, std::span<const double> log_start,
               const Array3<double>& log_moves, const Array3<double>& log_u, StatesView x,
               std::span<double> out);
void bridge_step_marginals(const Context& context, const BridgeStep& step, StatesView x,
                           double* out);
void add_bridge_step_kl(const Context& context, const BridgeStep& p, const BridgeStep& q,
                        StatesView x, double* kl);
void sample_bridge_step(const Context& context, const BridgeStep& step, StatesView x,
                        const DrawKey& key, std::uint64_t first_index, MutableStatesView out);
void sample_product_rows(const Context& context, const ScaledRows& left, const ScaledRows& right,
                         StatesView left_rows, StatesView right_rows, const DrawKey& key,
                         std::uint64_t first_index, MutableStatesView out);
std::unique_ptr<RowKernel> make_row_kernel(MatrixView<const double> log_k, StatesView x0,
                                           StatesView x1);
void sample_weighted_rows(const Context& context, const WeightedRows& weighted, StatesView x0,
                          const DrawKey& key, std::uint64_t first_index, MutableStatesView out);
void weighted_row_marginals(const Context& context, const WeightedRows& weighted, StatesView x0,
                            double* out);
void add_step_kl(const Context& context, const double* log_p, const double* log_q, std::size_t rows,
                 std::size_t dim, std::size_t num_categories, double* kl);
void step_log_probability(const Context& context, const double* log_p, StatesView to,
                          std::size_t num_categories, double* out);
void take_rows(const Context& context, StatesView x, std::span<const std::uint32_t> rows,
               MutableStatesView out);
std::unique_ptr<CpTrainer> make_cp_trainer(const Context& context, CpTrainerPlan plan);
std::unique_ptr<NetworkTrainer> make_network_trainer(const Context& context,
                                                     NetworkTrainerPlan plan);
void sample_network_chain(const Context& context, const NetworkTensors<float>& parameters,
                          const PinnedSteps& pinned, int steps_left, int num_steps, StatesView x,
                          const DrawKey& key, std::uint64_t first_index, MutableStatesView out,
                          NetworkWorkspace<float>& workspace);
void network_log_transition(const Context& context, const NetworkTensors<float>& parameters,
                            const ChainTables<float>& chain, int steps_left, StatesView x,
                            double* out);
void network_step_log_probability(const Context& context, const NetworkTensors<float>& parameters,
                                  const ChainTables<float>& chain, int steps_left, StatesView from,
                                  StatesView to, double* out);

}  // namespace bridgemark::backend::cpu
