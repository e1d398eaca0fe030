#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// What a coupling may give beyond its draws.
enum class Ability { kMarginals, kJoint, kTransitions };

// What metrics score: anything that draws x1 given x0. The truth, the baselines, every trained
// solver, the files of an outside solver and a Python object are couplings. Beyond drawing,
// abilities are optional; asking for one that is not there throws InvalidArgument.
class Coupling {
 public:
  virtual ~Coupling() = default;

  virtual std::size_t dim() const = 0;
  virtual int num_categories() const = 0;

  // Draws x1[i] ~ q(. | x0[i]) with the draws of index first_index + i.
  virtual void sample(const Context& context, StatesView x0, const DrawKey& key,
                      std::uint64_t first_index, MutableStatesView x1) const = 0;

  // out[b, d*S + s] = log q(x1^d = s | x0[b]), written to where the states lie.
  virtual bool has_marginals() const { return false; }
  virtual void write_log_marginals(const Context& context, StatesView x0,
                                   MatrixView<double> out) const;
  // The same of states of the host as [B,D,S].
  void log_marginals(const Context& context, StatesView x0, Array3<double>& out) const;

  // out[b] = log q(x1[b] | x0[b]).
  virtual bool has_joint() const { return false; }
  virtual void log_conditional(const Context& context, StatesView x0, StatesView x1,
                               std::span<double> out) const;

  // Whether the coupling is a Markov chain with num_steps steps.
  virtual bool has_transitions(int num_steps) const;

  // The number of steps of the chain that it was fitted as, which it has transitions for; 0 where
  // no number is its own.
  virtual int own_num_steps() const { return 0; }

  // Whether another seed gives other draws. Answers kept in files are the same for every seed.
  virtual bool draws_anew() const { return true; }

  // out[b, d*S + s] = log q(x_{n+1}^d = s | x_n = x[b]), n = 0..num_steps-1, written to where the
  // states lie.
  virtual void write_log_transition_marginals(const Context& context, int num_steps, int n,
                                              StatesView x, MatrixView<double> out) const;
  // The same of states of the host as [B,D,S].
  void log_transition_marginals(const Context& context, int num_steps, int n, StatesView x,
                                Array3<double>& out) const;

  // Whether log_transition() is the law of its steps: where these factorise, or have a joint.
  virtual bool has_joint_transitions(int num_steps) const { return has_transitions(num_steps); }

  // out[b] = log q(x_{n+1} = to[b] | x_n = from[b]) of one whole step, all coordinates together.
  // Where it is not overridden, the transition marginals are multiplied: right for a model whose
  // transitions factorise.
  virtual void log_transition(const Context& context, int num_steps, int n, StatesView from,
                              StatesView to, std::span<double> out) const;

  // Draws x_{n+1} given x_n for rows of one step. Where it is not overridden, the coordinates are
  // drawn from their transition marginals, independently of each other given x_n: right for a model
  // whose transitions factorise.
  virtual void sample_transition(const Context& context, int num_steps, int n, StatesView x,
                                 const DrawKey& key, std::uint64_t first_index,
                                 MutableStatesView out) const;

  // Why an ability is not there, as a score that needs it says; num_steps is that of transitions.
  virtual std::string why_missing(Ability ability, int num_steps) const;

  // Whether states may lie in the memory of the context's device; then all that is drawn or
  // written does, in the order of the context's queue, log_conditional's too.
  virtual bool takes_device_memory() const { return false; }

  // The same coupling read from x1 to x0, its sample() draws x0 given x1; null where the coupling
  // answers one direction alone.
  virtual std::shared_ptr<const Coupling> reversed() const { return nullptr; }
};

// Trajectories [rows, num_steps+1, D] of a coupling with transitions, started at x0. Step n of row
// i uses the draws of (seed, kTransition, n) at index first_index + i.
Array3<std::int32_t> sample_markov_trajectory(const Context& context, const Coupling& coupling,
                                              int num_steps, StatesView x0, std::uint64_t seed,
                                              std::uint64_t first_index);

// The same of a coupling that answers as a bridge over `process` does: the end is drawn first, with
// the draws of (seed, kConditional), and the inside from the pinned reference, step n with those of
// (seed, kPinned, n). The law of a bridge's Markov trajectories.
Array3<std::int32_t> sample_pinned_trajectory(const Context& context, const Coupling& coupling,
                                              const ReferenceProcess& process, int num_steps,
                                              StatesView x0, std::uint64_t seed,
                                              std::uint64_t first_index);

}  // namespace bridgemark
