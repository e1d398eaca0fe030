#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "bridgemark/backend/backend.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/process/step_draws.h"
#include "bridgemark/solver/core/trained_solver.h"
#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/cp/cp_recipe.h"

namespace bridgemark {

// What a model is trained for, and on which rows.
struct CpTask {
  ReferenceChain chain;
  std::optional<backend::MatchingLoss> matching;  // empty: the static loss
  std::uint64_t seed;
  StepDraws steps;                // of a matching loss, as is the coupling
  backend::RowCoupling coupling;  // of x0 and x1
};

// The training as a device takes it. `host` is a CPU context.
backend::CpTrainerPlan cp_trainer_plan(const Context& host, const CpTask& task,
                                       const CpRecipe& recipe, const TrainingData& data,
                                       backend::CpTensors<float> start);

// A model whose end others may start from.
class PotentialModel : public TrainedModel {
 public:
  // The parameters of its potential at the update it has come to.
  virtual backend::CpTensors<float> potential() const = 0;
};

// A CP bridge, or a chain or tree bridge where the plan starts with moves, in training on the
// context's device.
std::unique_ptr<PotentialModel> make_cp_model(const Context& context, const CpTask& task,
                                              const CpRecipe& recipe, backend::CpTrainerPlan plan);

}  // namespace bridgemark
