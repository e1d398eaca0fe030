#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/cp/cp_model.h"
#include "bridgemark/solver/cp/held_out_settings.h"

// The training of a bridge on rows that end: some are kept apart, and by the held-out objective on
// these (metric/held_out_objective.h) it finds the number of components, how much the cores are
// shrunk and smoothed and when to stop, without looking at any truth.
//
// First a potential of many components is trained. Every 50 updates its cores are finished in
// several ways (core_finish.h), and the best of all that is kept; the training ends when
// nothing was gained for `patience` looks. Then components that are alike are merged
// (component_merge.h) and the smaller potential is trained from there in the same way (a tree's
// from a start of its own), again and again, down to one component or to a size that is far worse.
// With refit=yes the way to the best one is gone once more on all rows: the same start, sizes,
// numbers of updates and finish. What comes of it is kept unless it is clearly worse on these rows
// than what the search found.
namespace bridgemark {

// Starting parameters of this many components on the rows of `data`.
using StartFn =
    std::function<backend::CpTensors<float>(const TrainingData& data, std::size_t components)>;

// A model on the rows of problem.data(), which must not be null. `host` is the context's CPU.
std::unique_ptr<PotentialModel> make_held_out_model(const Context& context, const Context& host,
                                                    const FitProblem& problem, const CpTask& task,
                                                    const CpRecipe& recipe,
                                                    const HeldOutSettings& settings, StartFn start);

// Components that the search starts with.
inline constexpr std::size_t kLargestSearched = 32;

}  // namespace bridgemark
