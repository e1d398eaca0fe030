#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/bridge/cp_potential.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

namespace backend {
struct BridgeStep;
}

// A bridge = reference process + potential: q(x1|x0) = v(x1) q_ref(x1|x0) / c(x0). The ground truth
// of a benchmark pair and the models of the CP solvers are all of this type. Immutable; copies
// share what was prepared.
class CpBridge : public Coupling {
 public:
  // own_num_steps: of the chain it was fitted as, where there is one. Throws InvalidArgument unless
  // process and potential have the same number of categories and own_num_steps, if not 0, divides
  // the steps of the process.
  CpBridge(ReferenceProcess process, CpPotential potential, int own_num_steps = 0);

  const ReferenceProcess& process() const { return process_; }
  const CpPotential& potential() const { return potential_; }
  std::size_t dim() const override { return potential_.dim(); }
  int num_categories() const override { return potential_.num_categories(); }

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
  void log_marginals(const Context& context, StatesView x0, Array3<double>& out) const override;

  bool has_joint() const override { return true; }
  void log_conditional(const Context& context, StatesView x0, StatesView x1,
                       std::span<double> out) const override;

  bool has_transitions(int num_steps) const override;
  int own_num_steps() const override { return own_num_steps_; }
  void log_transition_marginals(const Context& context, int num_steps, int n, StatesView x,
                                Array3<double>& out) const override;
  void sample_transition(const Context& context, int num_steps, int n, StatesView x,
                         const DrawKey& key, std::uint64_t first_index,
                         MutableStatesView out) const override;

  // out[b] = log q(to[b] | x_n = from[b]) of one whole step, all coordinates together.
  void log_transition(const Context& context, int num_steps, int n, StatesView from, StatesView to,
                      std::span<double> out) const;

  // The conditional as kernels take it, ready for num_samples draws.
  std::shared_ptr<const backend::BridgeStep> conditional_step(const Context& context,
                                                              std::size_t num_samples) const;

 private:
  struct Prepared;  // steps kept for the next call

  // Step n of a chain of num_steps, ready for num_samples draws. The conditional is step 0 of a
  // chain of one step.
  std::shared_ptr<const backend::BridgeStep> step(const Context& context, int num_steps, int n,
                                                  std::size_t num_samples) const;

  ReferenceProcess process_;
  CpPotential potential_;
  int own_num_steps_;
  std::shared_ptr<Prepared> prepared_;
};

}  // namespace bridgemark
