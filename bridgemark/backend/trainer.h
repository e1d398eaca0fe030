#pragma once

#include <memory>

#include "bridgemark/backend/plan/cp_trainer.h"
#include "bridgemark/backend/plan/network_trainer.h"
#include "bridgemark/core/context.h"

namespace bridgemark::backend {

// A training on the context's device. Both devices make the same draws; parameters agree as far as
// the order of their sums lets them.
std::unique_ptr<CpTrainer> make_trainer(const Context& context, CpTrainerPlan plan);
std::unique_ptr<NetworkTrainer> make_trainer(const Context& context, NetworkTrainerPlan plan);

}  // namespace bridgemark::backend
