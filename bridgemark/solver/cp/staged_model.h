#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/solver/cp/cp_model.h"

namespace bridgemark {

// What a stage ended in.
struct EndedStage {
  backend::CpTensors<float> potential;
  Diagnostics diagnostics = {};
};

using EndedStages = std::span<const EndedStage>;

// A part of a training that has a model of its own.
struct ModelStage {
  std::string name;          // in the progress and the log
  std::int64_t updates = 0;  // that are planned for one model
  std::int64_t most = 0;     // that the stage may take: more where it tries several
  std::function<std::unique_ptr<PotentialModel>(EndedStages ended)> begin;
};

// What all stages come to: the coupling, the stage whose potential is kept, and what is to be said
// beside its diagnostics.
struct StagedEnd {
  std::shared_ptr<const Coupling> coupling;
  std::size_t kept = 0;
  Diagnostics diagnostics = {};
};

// Trains one stage after the other. A checkpoint has the potentials of those that ended and the
// state of the one in training; `name` keeps its tensors apart from those of a staged model within.
// `end` is asked once all have ended, again after a resume.
std::unique_ptr<PotentialModel> make_staged_model(std::string name, std::vector<ModelStage> stages,
                                                  std::function<StagedEnd(EndedStages ended)> end);

}  // namespace bridgemark
