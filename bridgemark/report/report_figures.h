#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/results.h"

namespace bridgemark {

// The figures of the paper as data, one for each forward pair: input and target, and for the first
// seed of each method answers to the same inputs and trajectories from a few of them. States of two
// dimensions are shown as they are, others on the first two principal components of the target:
//   [{pair, dim, projection: "coordinates" | "pca", explained: [share, share], input: [[x,y]..],
//     target, methods: [{method, loss, num_steps, run, samples: [[x,y]..], trajectories:
//     [[[x,y]..]..]}]}]
nlohmann::json report_figures(const Context& context, const std::filesystem::path& folder,
                              const std::vector<RunResult>& results);

// Losses along the training of each run that has a log:
//   [{run, method, pair, seed, points: [[update, loss, seconds]..]}], at most 300 points each.
nlohmann::json training_curves(const std::filesystem::path& folder,
                               const std::vector<RunResult>& results);

}  // namespace bridgemark
