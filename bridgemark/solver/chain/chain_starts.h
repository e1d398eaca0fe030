#pragma once

#include <cstdint>
#include <memory>

#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/solver/chain/chain_recipe.h"
#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/cp/cp_model.h"

namespace bridgemark {

// A chain, or tree, of few states loses parts of p1 that none of its states starts near, and which
// parts is chance; a mixture of many components finds all of them, but cannot switch. So on endless
// draws three potentials are trained, and the one with the best objective on fresh rows is kept:
//   a mixture, which is a chain that never switches;
//   a chain that starts on it, its components merged to as many as the chain has states;
//   a chain that starts on samples of p1.
std::unique_ptr<PotentialModel> make_chain_of_two_starts(
    const Context& context, const Context& host, const FitProblem& problem,
    const ChainRecipe& recipe, const TrainingData& data, std::uint64_t seed);

}  // namespace bridgemark
