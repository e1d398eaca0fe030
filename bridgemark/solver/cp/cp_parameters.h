#pragma once

#include <memory>
#include <string>

#include "bridgemark/backend/plan/cp_trainer.h"
#include "bridgemark/bridge/bridge.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"

// Parameters of a CP, chain or tree potential in training, as the tensors of a file and as a
// bridge.
namespace bridgemark {

// Calls visit(name, values) for each tensor of a potential, its name behind `prefix`.
template <typename Tensors, typename Visit>
void each_tensor(const std::string& prefix, Tensors& tensors, Visit&& visit) {
  visit(prefix + "log_beta", tensors.log_beta);
  visit(prefix + "log_cores", tensors.log_cores);
  if (tensors.is_chain) visit(prefix + "log_moves", tensors.log_moves);
}

// The same for the whole state of a training.
template <typename State, typename Visit>
void each_state_tensor(State& state, Visit&& visit) {
  each_tensor("", state.parameters, visit);
  each_tensor("first_", state.first_moment, visit);
  each_tensor("second_", state.second_moment, visit);
  if (!state.average.log_beta.empty()) each_tensor("average_", state.average, visit);
}

// A CpBridge, or a ChainBridge or TreeBridge where the parameters have moves.
std::shared_ptr<const Bridge> bridge_of(const ReferenceProcess& process,
                                        const backend::CpTensors<float>& parameters,
                                        int own_num_steps);

// The potential whose cores are spread by `steps` elementary steps of the reference:
// r'[s] = sum_t Q[s,t] r[t]. 0 steps leave it as it is; between whole numbers of steps Q is the
// mixture of both.
backend::CpTensors<float> smoothed(const Context& context, const ReferenceProcess& process,
                                   const backend::CpTensors<float>& parameters, double steps);

}  // namespace bridgemark
