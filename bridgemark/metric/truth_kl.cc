#include "bridgemark/metric/truth_kl.h"

#include <algorithm>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/metric/trajectory_kl.h"

namespace bridgemark {

namespace {

States first_test_rows(const States& states, std::size_t most) {
  States rows(std::min(states.rows(), most), states.cols());
  std::copy_n(states.data(), rows.size(), rows.data());
  return rows;
}

}  // namespace

TruthKl::TruthKl(const Context& context, const BenchmarkPair& pair, const Coupling& like)
    : context_(context),
      truth_(pair.require_truth(context)),
      is_joint_(truth_->has_joint() && like.has_joint()),
      num_steps_(trajectory_steps(like, {})),
      on_device_(context.device != Device::kCpu && like.takes_device_memory() &&
                 truth_->takes_device_memory()),
      x0_(context, false, 0),
      x1_(context, false, 0) {
  if (!is_joint_ && !(truth_->has_transitions(num_steps_) && like.has_transitions(num_steps_))) {
    throw_invalid("validation",
                  "the truth of {} and the solver must both have a joint log-probability, or "
                  "transitions of {} steps, got neither",
                  pair.identity().name, num_steps_);
  }
  const PairedStates test = pair.test_set(context);
  x0_ = {context_, on_device_, first_test_rows(test.x0, kRows)};
  x1_ = {context_, on_device_, first_test_rows(test.x1, kRows)};
  if (is_joint_) log_truth_ = log_conditional(*truth_);
}

std::string_view TruthKl::name() const { return is_joint_ ? kJointKl : kForwardTrajectoryKl; }

MeanEstimate TruthKl::of(const Coupling& coupling) const {
  if (!is_joint_) {
    return trajectory_kl(context_, *truth_, coupling, num_steps_, x0_.view(), derive_seed(0, 0));
  }
  std::vector<double> rows = log_conditional(coupling);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = log_truth_[i] - rows[i];
  return estimate_mean(rows);
}

std::vector<double> TruthKl::log_conditional(const Coupling& coupling) const {
  backend::PlacedArray<double> log_q(context_, on_device_, x0_.view().rows);
  coupling.log_conditional(context_, x0_.view(), x1_.view(), log_q.values());
  const Matrix<double> values = std::move(log_q).to_host(context_);
  return {values.data(), values.data() + values.size()};
}

}  // namespace bridgemark
