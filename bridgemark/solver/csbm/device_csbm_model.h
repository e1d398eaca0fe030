#pragma once

#include <memory>

#include "bridgemark/solver/csbm/csbm_model.h"

namespace bridgemark {

// What a trainer needs of a task, with the steps of its chains.
backend::NetworkTrainerPlan network_trainer_plan(const Context& host, const CsbmTask& task,
                                                 const TwoWaySteps& steps);

// A model of CSBM whose training stays on the GPU. `host` is a CPU context for what is made
// beforehand.
std::unique_ptr<CsbmModel> make_device_csbm_model(const Context& host, CsbmTask task);

}  // namespace bridgemark
