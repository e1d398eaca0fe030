#pragma once

#include <cstdint>
#include <memory>

#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/core/trained_solver.h"
#include "bridgemark/solver/csbm/csbm_recipe.h"

// The training of networks on rows that end: some are kept apart, and the loss on pairs made of
// these (judged_pairs.h) stops each direction in each D-IMF iteration.
//
// A stage is what trains on one coupling: a direction in an iteration, or both where an update
// trains both. It starts with a look at the held-out loss of the averages, has another every 50
// updates, and ends when nothing was gained for `patience` looks. The next stage starts from the
// parameters of the best look, and so does the coupling that comes out. The first iteration is
// trained for each network of a ladder (network_ladder.h), and the best goes on. With refit=yes all
// stages are gone through once more on all rows, for the numbers of updates found.
namespace bridgemark {

// A model on the rows of a problem of which `settings.holdout` keeps some apart (holdout.h). `host`
// is the context's CPU.
std::unique_ptr<TrainedModel> make_held_out_csbm(const Context& context, const Context& host,
                                                 const FitProblem& problem,
                                                 const CsbmRecipe& recipe,
                                                 const StoppingSettings& settings,
                                                 std::uint64_t seed);

}  // namespace bridgemark
