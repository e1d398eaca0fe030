#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/backend/plan/bridge_step.h"
#include "bridgemark/backend/plan/chain_workspace.h"
#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/backend/plan/cp_trainer.h"
#include "bridgemark/backend/plan/device_states.h"
#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/backend/plan/network_trainer.h"
#include "bridgemark/backend/plan/row_kernel.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/backend/plan/tree_workspace.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/resources.h"
#include "bridgemark/math/adamw.h"
#include "bridgemark/math/philox.h"

// Parameters have names for the reader: the definitions below use none of them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

namespace bridgemark::backend {

// What a device can do. Every operation is declared here once; a device overrides those that it
// has, and any other throws DeviceError that names the operation and the device that has it.
//
// Arrays lie in host memory, and an operation returns when its result is complete. Where states may
// lie on the device, what is made of them lies there as well, and the work is done in the order of
// the context's queue.
class Backend {
 public:
  explicit Backend(Device device) : device_(device) {}
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // Throws DeviceError unless this machine has the device.
  virtual void require_device() const {}

  // The machine in words, with its GPU where that is the device.
  virtual std::string machine() const { refuse(__func__); }

  // What a report of a fault should say of it.
  virtual Facts facts() const { refuse(__func__); }

  // ---- The device's own memory.

  // Bytes in use, by anybody.
  virtual std::size_t memory_in_use() const { refuse(__func__); }

  // Freed with its last owner, once all work on the device is done.
  virtual std::shared_ptr<void> allocate_memory(std::size_t bytes) const { refuse(__func__); }

  // Between any two memories; returns when it is done.
  virtual void copy_memory(const Context& context, const void* from, void* to,
                           std::size_t bytes) const {
    refuse(__func__);
  }

  // Returns when all that is in the context's queue is done.
  void wait(const Context& context) const { copy_memory(context, nullptr, nullptr, 0); }

  // out = integers of a caller on the device, as states. Waits for them. Throws InvalidArgument
  // that names the first one outside 0..num_categories-1.
  virtual void take_states(const Context& context, std::string_view name,
                           const DeviceIntegers& given, int num_categories,
                           MutableStatesView out) const {
    refuse(__func__);
  }

  // out[i] = x[rows[i]]: `rows` lie on the host, the states in the memory of this device.
  virtual void take_rows(const Context& context, StatesView x, std::span<const std::uint32_t> rows,
                         MutableStatesView out) const {
    refuse(__func__);
  }

  // ---- Potentials and bridges.

  // out[m,n] = log sum_k exp(a[m,k] + b[k,n]).
  virtual void log_matmul(const Context& context, MatrixView<const double> a,
                          MatrixView<const double> b, MatrixView<double> out) const {
    refuse(__func__);
  }

  // out[d,s,k] = log sum_t exp(log_q[s,t] + log_cores[d,t,k]); cores are [D,S,K].
  virtual void propagate_cores(const Context& context, MatrixView<const double> log_q,
                               const Array3<double>& log_cores, Array3<double>& out) const {
    refuse(__func__);
  }

  // The same for Q = exp(log_identity) I + exp(log_uniform) 11^T, without a product.
  virtual void propagate_cores_rank_one(const Context& context, double log_identity,
                                        double log_uniform, const Array3<double>& log_cores,
                                        Array3<double>& out) const {
    refuse(__func__);
  }

  // The same for a power by its factors, without its table: two products by its rank.
  virtual void propagate_cores_factored(const Context& context, const FactoredPower& q,
                                        const Array3<double>& log_cores,
                                        Array3<double>& out) const {
    refuse(__func__);
  }

  // out[b] = log sum_k exp(log_beta[k] + sum_d log_u[d, x[b,d], k]).
  virtual void log_mixture(const Context& context, std::span<const double> log_beta,
                           const Array3<double>& log_u, StatesView x, std::span<double> out) const {
    refuse(__func__);
  }

  // out[b] = log of the sum over the paths of a hidden chain: log_start [K], log_moves [D-1,K,K],
  // with the emissions log_u[d, x[b,d], :].
  virtual void log_chain(const Context& context, std::span<const double> log_start,
                         const Array3<double>& log_moves, const Array3<double>& log_u, StatesView x,
                         std::span<double> out) const {
    refuse(__func__);
  }

  // The same over the states of a hidden tree: log_root [K], log_moves [M-1,K,K].
  virtual void log_tree(const Context& context, const TreeShape& shape,
                        std::span<const double> log_root, const Array3<double>& log_moves,
                        const Array3<double>& log_u, StatesView x, std::span<double> out) const {
    refuse(__func__);
  }

  // A step whose tables lie on a device other than the CPU, and nowhere else: for operations there
  // alone.
  virtual BridgeStep make_device_step(const Context& context, const StepPlan& plan) const {
    refuse(__func__);
  }

  // out[b, d*S + s] = log of the marginal q(x_to^d = s | x_from = x[b]) of a bridge step,
  // normalised. States may lie on the device.
  virtual void bridge_step_marginals(const Context& context, const BridgeStep& step, StatesView x,
                                     MatrixView<double> out) const {
    refuse(__func__);
  }

  // kl[b] += sum_d KL(p || q) between the marginals of two bridge steps from x[b], +inf where q has
  // 0 and p has not.
  virtual void add_bridge_step_kl(const Context& context, const BridgeStep& p, const BridgeStep& q,
                                  StatesView x, double* kl) const {
    refuse(__func__);
  }

  // out[b] = log q(x_to = to[b] | x_from = from[b]) of a bridge step, all coordinates together; for
  // states on a device, where both must lie.
  virtual void bridge_step_log_probability(const Context& context, const BridgeStep& step,
                                           StatesView from, StatesView to, double* out) const {
    refuse(__func__);
  }

  // One draw of a bridge step for each row of x. Row i uses the draws of index first_index + i:
  // the first picks the component, the following ones the coordinates in order. With a hidden chain
  // the first D pick its path, with a tree the first M the states of its nodes. States may lie on
  // the device, then both do.
  virtual void sample_bridge_step(const Context& context, const BridgeStep& step, StatesView x,
                                  const DrawKey& key, std::uint64_t first_index,
                                  MutableStatesView out) const {
    refuse(__func__);
  }

  // out[b,d] = s with weight left[left_rows[b,d], s] * right[right_rows[b,d], s]; row i uses the
  // draws of index first_index + i in order. States may lie on the device, then all three do.
  virtual void sample_product_rows(const Context& context, const ScaledRows& left,
                                   const ScaledRows& right, StatesView left_rows,
                                   StatesView right_rows, const DrawKey& key,
                                   std::uint64_t first_index, MutableStatesView out) const {
    refuse(__func__);
  }

  // ---- Rows of sources. Another device than the CPU draws them inside its trainers and its
  // samplers.

  // Rows first_index.. of a key: independent coordinates as a RowSource has them, and observed
  // rows.
  virtual void draw_independent_rows(const Context& context, MatrixView<const double> cumulative,
                                     std::span<const double> components, const DrawKey& key,
                                     std::uint64_t first_index, MutableStatesView out) const {
    refuse(__func__);
  }
  virtual void draw_observed_rows(const Context& context, StatesView observed, const DrawKey& key,
                                  std::uint64_t first_index, MutableStatesView out) const {
    refuse(__func__);
  }

  // Rows first_index.. of a source.
  virtual void draw_rows(const Context& context, const RowSource& source, std::uint64_t first_index,
                         MutableStatesView out) const {
    refuse(__func__);
  }

  // out[b] ~ q_ref(x_n | x0[b], x1[b]) at n = times[b] in 0..num_steps.
  virtual void draw_points(const Context& context, const PinnedRows& pinned, StatesView x0,
                           StatesView x1, std::span<const std::int32_t> times,
                           std::uint64_t first_index, MutableStatesView out) const {
    refuse(__func__);
  }

  // Brings the rows of x1 into the order of the pairs with x0, both rows first_index.. of their
  // sources, in groups of kCoupledRows from the first on.
  virtual void couple_rows(const Context& context, const RowCoupling& coupling, StatesView x0,
                           std::uint64_t first_index, MutableStatesView x1) const {
    refuse(__func__);
  }

  // `points` of the pinned reference for each pair of rows, one pair's after the other, for the
  // network of a direction; point i has the draws of index first_index + i.
  virtual NetworkPoints draw_network_points(const Context& context, const PinnedRows& pinned,
                                            int direction, StatesView x0, StatesView x1,
                                            std::size_t points, std::uint64_t first_index) const {
    refuse(__func__);
  }

  // A source kept on a device other than the CPU.
  virtual std::unique_ptr<RowSampler> make_row_sampler(const Context& context,
                                                       const RowSource& source) const {
    refuse(__func__);
  }

  // ---- Transport between rows.

  // log_k is [S,S], the rows [n0,D] and [n1,D] are checked states in host memory.
  virtual std::unique_ptr<RowKernel> make_row_kernel(const Context& context,
                                                     MatrixView<const double> log_k, StatesView x0,
                                                     StatesView x1) const {
    refuse(__func__);
  }

  // out[b] = a row drawn by its weight given x0[b], with the first draw of index first_index + b.
  // States may lie on the device.
  virtual void sample_weighted_rows(const Context& context, const WeightedRows& weighted,
                                    StatesView x0, const DrawKey& key, std::uint64_t first_index,
                                    MutableStatesView out) const {
    refuse(__func__);
  }

  // out[b, d*S + s] = log of the share of the weight given x0[b] that lies on rows with s at d;
  // -inf where no row has it. States may lie on the device.
  virtual void weighted_row_marginals(const Context& context, const WeightedRows& weighted,
                                      StatesView x0, MatrixView<double> out) const {
    refuse(__func__);
  }

  // ---- Losses with their gradients in closed form, in float32 for training and in float64 for
  // checks. Another device than the CPU has them inside its trainers.

  // mean log c(x0) - mean log v(x1) of a CP potential, chain.num_steps steps between the ends.
  // Optional outputs log_c [B] and log_v [B] may be empty.
  virtual double static_loss(const Context& context, const CpTensors<float>& parameters,
                             const ChainTables<float>& chain, StatesView x0, StatesView x1,
                             CpTensors<float>& gradient, CpWorkspace<float>& workspace,
                             std::span<double> log_c = {}, std::span<double> log_v = {}) const {
    refuse(__func__);
  }
  virtual double static_loss(const Context& context, const CpTensors<double>& parameters,
                             const ChainTables<double>& chain, StatesView x0, StatesView x1,
                             CpTensors<double>& gradient, CpWorkspace<double>& workspace,
                             std::span<double> log_c = {}, std::span<double> log_v = {}) const {
    refuse(__func__);
  }

  // The same of a chain potential (bridge/chain_potential.h): its tensors have moves.
  virtual double chain_loss(const Context& context, const CpTensors<float>& parameters,
                            const ChainTables<float>& reference, StatesView x0, StatesView x1,
                            CpTensors<float>& gradient, ChainWorkspace<float>& workspace,
                            std::span<double> log_c = {}, std::span<double> log_v = {}) const {
    refuse(__func__);
  }
  virtual double chain_loss(const Context& context, const CpTensors<double>& parameters,
                            const ChainTables<double>& reference, StatesView x0, StatesView x1,
                            CpTensors<double>& gradient, ChainWorkspace<double>& workspace,
                            std::span<double> log_c = {}, std::span<double> log_v = {}) const {
    refuse(__func__);
  }

  // The same of a tree potential (bridge/tree_potential.h): its tensors have a tree as well.
  virtual double tree_loss(const Context& context, const CpTensors<float>& parameters,
                           const ChainTables<float>& reference, StatesView x0, StatesView x1,
                           CpTensors<float>& gradient, TreeWorkspace<float>& workspace,
                           std::span<double> log_c = {}, std::span<double> log_v = {}) const {
    refuse(__func__);
  }
  virtual double tree_loss(const Context& context, const CpTensors<double>& parameters,
                           const ChainTables<double>& reference, StatesView x0, StatesView x1,
                           CpTensors<double>& gradient, TreeWorkspace<double>& workspace,
                           std::span<double> log_c = {}, std::span<double> log_v = {}) const {
    refuse(__func__);
  }

  // The loss of bridge matching between the pinned reference and the model's marginal transitions,
  // summed over dimensions and categories, mean over the batch, in which a row counts by the weight
  // of its step. Row b is at step n[b] in state x_n[b]; its target is
  // q_ref(x_{n+1} | x_n, x_1). Optional outputs log_model and target are [B,D,S].
  virtual double matching_loss(const Context& context, const CpTensors<float>& parameters,
                               const ChainTables<float>& chain, MatchingLoss kind, StatesView x_n,
                               StatesView x1, std::span<const std::int32_t> n,
                               CpTensors<float>& gradient, CpWorkspace<float>& workspace,
                               std::span<double> log_model = {},
                               std::span<double> target = {}) const {
    refuse(__func__);
  }
  virtual double matching_loss(const Context& context, const CpTensors<double>& parameters,
                               const ChainTables<double>& chain, MatchingLoss kind, StatesView x_n,
                               StatesView x1, std::span<const std::int32_t> n,
                               CpTensors<double>& gradient, CpWorkspace<double>& workspace,
                               std::span<double> log_model = {},
                               std::span<double> target = {}) const {
    refuse(__func__);
  }

  // The loss of bridge matching for one direction of a network. Row b is in state x[b] with
  // steps_left[b] to its clean end clean[b]; its target is the step pinned to that end.
  // KL(target || model) is summed over categories and averaged over rows and dimensions; the
  // squared error is summed over dimensions and categories and averaged over rows. NaN where the
  // network left the range of its numbers.
  virtual double network_loss(const Context& context, const NetworkTensors<float>& parameters,
                              const ChainTables<float>& chain, MatchingLoss kind, StatesView x,
                              StatesView clean, std::span<const std::int32_t> steps_left,
                              NetworkTensors<float>& gradient, NetworkWorkspace<float>& workspace,
                              const NetworkLossOutputs& outputs = {}) const {
    refuse(__func__);
  }
  virtual double network_loss(const Context& context, const NetworkTensors<double>& parameters,
                              const ChainTables<double>& chain, MatchingLoss kind, StatesView x,
                              StatesView clean, std::span<const std::int32_t> steps_left,
                              NetworkTensors<double>& gradient, NetworkWorkspace<double>& workspace,
                              const NetworkLossOutputs& outputs = {}) const {
    refuse(__func__);
  }

  // The loss of each row alone, whose mean is network_loss; no gradient.
  virtual void network_row_losses(const Context& context, const NetworkTensors<float>& parameters,
                                  const ChainTables<float>& chain, MatchingLoss kind, StatesView x,
                                  StatesView clean, std::span<const std::int32_t> steps_left,
                                  NetworkWorkspace<float>& workspace, std::span<double> out) const {
    refuse(__func__);
  }

  // ---- Trainings. Every device makes the same draws; parameters agree as far as the order of
  // their sums lets them.

  virtual std::unique_ptr<CpTrainer> make_trainer(const Context& context,
                                                  CpTrainerPlan plan) const {
    refuse(__func__);
  }
  virtual std::unique_ptr<NetworkTrainer> make_trainer(const Context& context,
                                                       NetworkTrainerPlan plan) const {
    refuse(__func__);
  }

  // AdamW on whole arrays; step counts from 1.
  virtual void adamw_update(const Context& context, const AdamWSettings& settings,
                            std::int64_t step, std::span<const float> gradient,
                            std::span<float> parameters, std::span<float> first_moment,
                            std::span<float> second_moment) const {
    refuse(__func__);
  }

  // average = (1 - share) * average + share * parameters.
  virtual void average_update(const Context& context, double share,
                              std::span<const float> parameters, std::span<float> average) const {
    refuse(__func__);
  }

  // ---- Fitted networks. States may lie on the device, then all of a call do; `kept` is what a
  // device keeps of the network and its steps from call to call, null: nothing.

  // Walks num_steps steps through a network, from states with steps_left to the clean end: a clean
  // end c is drawn by w, then a step pinned to it, which is a draw of the transition. Step i of row
  // b uses the draws 2 (i D + d) (clean end) and the next (step) of index first_index + b. A row's
  // result does not depend on the rows beside it.
  virtual void sample_network_chain(const Context& context, const NetworkTensors<float>& parameters,
                                    const PinnedSteps& pinned, int steps_left, int num_steps,
                                    StatesView x, const DrawKey& key, std::uint64_t first_index,
                                    MutableStatesView out, NetworkWorkspace<float>& workspace,
                                    KeptTables* kept = nullptr) const {
    refuse(__func__);
  }

  // out[b, d*S + s] = log of the model's transition probability from x[b] with steps_left to the
  // clean end. Finite wherever the reference allows the step.
  virtual void network_log_transition(const Context& context,
                                      const NetworkTensors<float>& parameters,
                                      const ChainTables<float>& chain, int steps_left, StatesView x,
                                      MatrixView<double> out, KeptTables* kept = nullptr) const {
    refuse(__func__);
  }

  // out[b] = log of the model's probability of the whole step from[b] -> to[b], all coordinates
  // together: the sum over d of what network_log_transition has at to[b,d], without the other
  // categories.
  virtual void network_step_log_probability(const Context& context,
                                            const NetworkTensors<float>& parameters,
                                            const ChainTables<float>& chain, int steps_left,
                                            StatesView from, StatesView to, double* out,
                                            KeptTables* kept = nullptr) const {
    refuse(__func__);
  }

  // ---- Scores. All arrays lie in the memory of this device.

  // kl[b] += sum_d KL(p || q) between the rows [b,d,:] of log-probabilities [rows,D,S], +inf where
  // q has 0 and p has not.
  virtual void add_step_kl(const Context& context, const double* log_p, const double* log_q,
                           std::size_t rows, std::size_t dim, std::size_t num_categories,
                           double* kl) const {
    refuse(__func__);
  }

  // out[b] = sum_d log_p[b,d,to[b,d]] of log-probabilities [rows,D,S].
  virtual void step_log_probability(const Context& context, const double* log_p, StatesView to,
                                    std::size_t num_categories, double* out) const {
    refuse(__func__);
  }

  // Counts of states on a device other than the CPU; metric/ has those of states of the host.

  // How often each category falls in each column of x: [D,S].
  virtual Matrix<std::int64_t> count_columns(const Context& context, StatesView x,
                                             int num_categories) const {
    refuse(__func__);
  }

  // For every pair of columns d < e, at d * D + e: the sum over all pairs of categories of
  // |count in truth * its weight - count in prediction * its weight|. Empty where the table of a
  // pair does not fit a multiprocessor's memory or a cell may leave 32 bits.
  virtual std::vector<std::int64_t> pair_differences(const Context& context,
                                                     const ComparedStates& states) const {
    refuse(__func__);
  }

  // Of two sets with as many rows. Both empty where the table of a pair does not fit a
  // multiprocessor's memory.
  virtual RowSigns row_signs(const Context& context, StatesView truth, StatesView prediction,
                             int num_categories) const {
    refuse(__func__);
  }

 protected:
  // Throws DeviceError: this device does not have the operation.
  [[noreturn]] void refuse(std::string_view operation) const;

 private:
  Device device_;
};

// The context's device. Throws DeviceError where this build does not have it.
const Backend& of(const Context& context);

}  // namespace bridgemark::backend

#pragma GCC diagnostic pop
