#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/solver/core/options.h"
#include "bridgemark/solver/cp/staged_model.h"

// Which way a bridge is trained. One of either way answers both questions, and the better for a
// question depends on the ends: a mixture of few products fits one way where the other has no form.
namespace bridgemark {

// `direction`: forward, reverse or auto.
OptionSpec direction_option();

// The same ends the other way round, with the reference seen backwards.
FitProblem swapped(const FitProblem& problem);

// By how much `against` turned round answers x1 given x0 better than `along`, in nats of their KLs
// to the truth, by rows that neither was trained on: positive where it is nearer. Each has a law of
// where it starts. With Q' the reference seen backwards and pi its stationary law,
//   log q(x1|x0) of `against` = log p1 + log Q'(x0|x1) + log v(x0) - log c(x1) - log p0,
// p1 its law and p0 that of its other end, differs from log q of `along` by terms of one end alone,
// so that unpaired rows are enough. p0 is an estimate (ReversedBridge::log_p1).
// Throws InvalidArgument where `against` cannot be turned round.
MeanEstimate gain_of_turning(const Context& context, const FitProblem& problem, const Bridge& along,
                             const std::shared_ptr<const Bridge>& against, StatesView x0,
                             StatesView x1);

// How one bridge is trained, and what its potential is as a bridge of a process.
struct BridgeTraining {
  std::int64_t updates;   // of one model
  int own_num_steps = 0;  // of the bridges
  std::uint64_t seed = 0;
  std::function<std::unique_ptr<PotentialModel>(const FitProblem&, const SolverOptions&)> make;
};

// The training that `direction` asks for. forward: that of the problem. reverse: that of the
// swapped problem. auto: both; on endless draws fresh rows choose, on data rows that were kept from
// two trainings before, whose parameters are not used. It ends in a TwoWayBridge but for forward.
std::unique_ptr<PotentialModel> make_directed_model(const Context& context,
                                                    const FitProblem& problem,
                                                    const SolverOptions& options,
                                                    const BridgeTraining& training);

// Throws InvalidArgument for options that do not go together.
void check_direction(const Context& context, const SolverOptions& options);

}  // namespace bridgemark
