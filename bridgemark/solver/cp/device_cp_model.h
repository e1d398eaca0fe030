#pragma once

#include <cstdint>
#include <memory>

#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/cp/cp_model.h"
#include "bridgemark/solver/cp/cp_recipe.h"

namespace bridgemark {

// A CP model whose training stays on the GPU. `host` is a CPU context for what is made beforehand.
std::unique_ptr<CpModel> make_device_cp_model(const Context& host, const CpTask& task,
                                              const CpRecipe& recipe, const TrainingData& data,
                                              backend::CpTensors<float> parameters);

}  // namespace bridgemark
