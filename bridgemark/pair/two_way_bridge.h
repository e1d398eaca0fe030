#pragma once

#include <memory>
#include <span>
#include <string>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/bridge/coupling.h"

namespace bridgemark {

// Bridges that were fitted to the same ends: `along` from x0 to x1, `against` from x1 to x0, each
// with the law of the end it starts from. Either answers both ways, its own and turned round by
// Bayes' rule, and each question has the one that was found to be nearer.
struct TwoWayParts {
  std::shared_ptr<const Bridge> along;    // null where none was kept
  std::shared_ptr<const Bridge> against;  // the same
  bool turned_forward = false;            // x1 given x0 is answered by `against`
  bool turned_backward = false;           // x0 given x1 by `along`
};

// The coupling of what answers x1 given x0; reversed() is what answers x0 given x1.
class TwoWayBridge : public Coupling {
 public:
  // Throws InvalidArgument where a bridge that is to answer is missing, or has no law to be turned
  // round by.
  TwoWayBridge(const Context& context, TwoWayParts parts);

  const TwoWayParts& parts() const { return parts_; }

  // What answers x1 given x0: a bridge, or one turned round.
  const std::shared_ptr<const Coupling>& forward() const { return forward_; }

  std::size_t dim() const override { return forward_->dim(); }
  int num_categories() const override { return forward_->num_categories(); }
  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override {
    forward_->sample(context, x0, key, first_index, x1);
  }
  bool has_marginals() const override { return forward_->has_marginals(); }
  void write_log_marginals(const Context& context, StatesView x0,
                           MatrixView<double> out) const override {
    forward_->write_log_marginals(context, x0, out);
  }
  bool has_joint() const override { return forward_->has_joint(); }
  void log_conditional(const Context& context, StatesView x0, StatesView x1,
                       std::span<double> out) const override {
    forward_->log_conditional(context, x0, x1, out);
  }
  bool has_transitions(int num_steps) const override {
    return forward_->has_transitions(num_steps);
  }
  int own_num_steps() const override { return forward_->own_num_steps(); }
  void write_log_transition_marginals(const Context& context, int num_steps, int n, StatesView x,
                                      MatrixView<double> out) const override {
    forward_->write_log_transition_marginals(context, num_steps, n, x, out);
  }
  bool has_joint_transitions(int num_steps) const override {
    return forward_->has_joint_transitions(num_steps);
  }
  void log_transition(const Context& context, int num_steps, int n, StatesView from, StatesView to,
                      std::span<double> out) const override {
    forward_->log_transition(context, num_steps, n, from, to, out);
  }
  void sample_transition(const Context& context, int num_steps, int n, StatesView x,
                         const DrawKey& key, std::uint64_t first_index,
                         MutableStatesView out) const override {
    forward_->sample_transition(context, num_steps, n, x, key, first_index, out);
  }
  std::string why_missing(Ability ability, int num_steps) const override {
    return forward_->why_missing(ability, num_steps);
  }
  bool takes_device_memory() const override { return forward_->takes_device_memory(); }
  std::shared_ptr<const Coupling> reversed() const override { return backward_; }

 private:
  TwoWayParts parts_;
  std::shared_ptr<const Coupling> forward_, backward_;
};

}  // namespace bridgemark
