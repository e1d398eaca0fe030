#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/bridge/source_law.h"
#include "bridgemark/core/tree_shape.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

namespace backend {
struct BridgeStep;
}

// A bridge = reference process + potential: q(x1|x0) = v(x1) q_ref(x1|x0) / c(x0). The ground truth
// of a benchmark pair and the models of the solvers that learn a potential are all of this type,
// with potentials of three forms: CP (CpBridge), chain (ChainBridge) and tree (TreeBridge). The
// reference acts on the cores alone, so they share all but the sums over components. Immutable;
// copies share what was prepared.
class Bridge : public Coupling {
 public:
  const ReferenceProcess& process() const { return process_; }

  // The parts of the potential: weights [K], cores [D,S,K] and, where a component may change from a
  // coordinate to the next, the weights of that [D-1,K,K]; empty where it may not.
  virtual std::span<const double> log_weights() const = 0;
  virtual const Array3<double>& log_cores() const = 0;
  virtual const Array3<double>& log_moves() const = 0;

  // Of a tree potential, whose log_moves [M-1,K,K] lead to its nodes; null of any other.
  virtual const TreeShape* tree() const { return nullptr; }

  std::size_t num_components() const { return log_cores().extent(2); }
  std::size_t dim() const override { return log_cores().extent(0); }
  int num_categories() const override { return static_cast<int>(log_cores().extent(1)); }

  // A law of x0 that was fitted beside the potential. With it the bridge also answers x0 given x1
  // (ReverseTruth). Null: there is none.
  const SourceLaw* source() const { return source_.get(); }

  // This bridge with such a law. Throws InvalidArgument for one of another space.
  virtual std::shared_ptr<const Bridge> with_source(SourceLaw source) const = 0;

  // out[b] = log v(x[b]).
  void log_potential(const Context& context, StatesView x, std::span<double> out) const;

  // out[b] = log c(x0[b]).
  void log_normalizer(const Context& context, StatesView x0, std::span<double> out) const;

  // out[b] = log phi_n(x[b]), phi_n(x) = E[v(x1) | x_n = x] under the reference; phi_0 = c and
  // phi_{num_steps} = v.
  void log_phi(const Context& context, int num_steps, int n, StatesView x,
               std::span<double> out) const;

  // u_n[d,s,k]: the cores as seen from step n; at num_steps they are the cores themselves.
  Array3<double> propagated_cores(const Context& context, const ReferenceChain& chain, int n) const;

  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override;

  bool has_marginals() const override { return true; }
  bool takes_device_memory() const override { return true; }
  void write_log_marginals(const Context& context, StatesView x0,
                           MatrixView<double> out) const override;

  bool has_joint() const override { return true; }
  void log_conditional(const Context& context, StatesView x0, StatesView x1,
                       std::span<double> out) const override;

  bool has_transitions(int num_steps) const override;
  int own_num_steps() const override { return own_num_steps_; }
  void write_log_transition_marginals(const Context& context, int num_steps, int n, StatesView x,
                                      MatrixView<double> out) const override;
  // kl[b] += sum_d KL(this || q) between the marginals of step n from x[b]: what
  // log_transition_marginals of both give, without writing them. The CPU alone has it; throws
  // DeviceError for another device.
  void add_transition_kl(const Context& context, int num_steps, int n, StatesView x,
                         const Bridge& q, double* kl) const;
  void sample_transition(const Context& context, int num_steps, int n, StatesView x,
                         const DrawKey& key, std::uint64_t first_index,
                         MutableStatesView out) const override;

  // By the joint of a step, whose coordinates depend on each other.
  void log_transition(const Context& context, int num_steps, int n, StatesView from, StatesView to,
                      std::span<double> out) const override;

  // The conditional as kernels take it, ready for num_samples draws.
  std::shared_ptr<const backend::BridgeStep> conditional_step(const Context& context,
                                                              std::size_t num_samples) const;

 protected:
  // own_num_steps: of the chain it was fitted as, where there is one.
  Bridge(ReferenceProcess process, int own_num_steps);

  // What the constructor of a form asks once its potential is there. Throws InvalidArgument unless
  // process and potential have the same number of categories and own_num_steps, if not 0, divides
  // the steps of the process.
  void check() const;

  // What with_source() asks of a copy.
  void set_source(SourceLaw source);

 private:
  struct Prepared;  // steps kept for the next call

  // Step n of a chain of num_steps, ready for num_samples draws. The conditional is step 0 of a
  // chain of one step.
  std::shared_ptr<const backend::BridgeStep> step(const Context& context, int num_steps, int n,
                                                  std::size_t num_samples) const;

  backend::BridgeStep make_host_step(const Context& context, const ReferenceChain& chain,
                                     int n) const;
  backend::BridgeStep make_device_step(const Context& context, const ReferenceChain& chain,
                                       int n) const;

  // out[b] = log of the sum over components with the cores u [D,S,K].
  void log_sum_components(const Context& context, const Array3<double>& log_u, StatesView x,
                          std::span<double> out) const;

  ReferenceProcess process_;
  int own_num_steps_;
  std::shared_ptr<const SourceLaw> source_;
  std::shared_ptr<Prepared> prepared_;
};

}  // namespace bridgemark
