#pragma once

#include "bridgemark/backend/cp_trainer.h"
#include "bridgemark/bridge/cp_potential.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/process/step_draws.h"
#include "bridgemark/solver/core/training_loop.h"

namespace bridgemark {

// What a model is trained for, and on which rows.
struct CpTask {
  ReferenceChain chain;
  backend::CpLoss loss;
  std::uint64_t seed;
  StepDraws steps;                // of a matching loss, as is the coupling
  backend::RowCoupling coupling;  // of x0 and x1
};

// A CP bridge in training, wherever its parameters live.
class CpModel : public Trainable {
 public:
  virtual CpPotential potential() const = 0;
};

CpPotential to_potential(const backend::CpTensors<float>& parameters);

// The tensors of a checkpoint. What is saved must stay alive until the file is written.
void save_cp_state(const backend::CpTrainingState& state, SafetensorsWriter& writer);
void load_cp_state(const SafetensorsFile& file, backend::CpTrainingState& state);

}  // namespace bridgemark
