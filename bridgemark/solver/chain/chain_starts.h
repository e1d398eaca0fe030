#pragma once

#include <cstdint>
#include <memory>

#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/solver/chain/chain_recipe.h"
#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/cp/cp_model.h"

namespace bridgemark {

// A chain of few states loses parts of p1 that none of its states starts near, and which parts is
// chance; a mixture of many components finds all of them, but cannot switch. So on endless draws
// two chains are trained, and the one with the better objective on fresh rows is kept:
//   one starts on a trained mixture, whose components were merged to as many as it has states;
//   the other on samples of p1.
std::unique_ptr<PotentialModel> make_chain_of_two_starts(
    const Context& context, const Context& host, const FitProblem& problem,
    const ChainRecipe& recipe, const TrainingData& data, std::uint64_t seed);

}  // namespace bridgemark
