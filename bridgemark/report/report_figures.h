#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/pair/benchmark_pair.h"

namespace bridgemark {

// The figures of the paper as data, one for each forward pair: input and target, and for the first
// seed of each method answers to the same inputs, trajectories from four that lie far apart, and
// draws of q(. | x0) for three of those, beside those of the truth.States of two dimensions are
// shown as they are. Of more, clouds are on the first two principal components of the target,
// conditionals on the two coordinates (from 0) that tell the truth's apart best, and trajectories
// are the first of these against the time, [n / num_steps, value]:
//   [{pair, dim, projection: "coordinates" | "pca", explained: [share, share], input: [[x,y]..],
//     target, coordinates: [d, d], conditional: {x0: [[x,y]..], truth: [[[x,y]..]..]},
//     pictures: {form, truth and x0 of the same inputs as rows, mean..} (answer_pictures.h) or
//     null, methods: [{method, loss, num_steps, run, oracle, samples: [[x,y]..],
//                trajectories: [[[x,y]..]..], conditional: [[[x,y]..]..], pictured: rows or
//                null}]}]
// A method without transitions has no trajectories; one that was added has what it left
// (figure_answers.h). A pair that is not there any more has no figure.
nlohmann::json report_figures(const Context& context, const std::filesystem::path& folder,
                              const std::vector<RunResult>& results);

// Whether the run's model, or of an outside solver its answers, lies in the folder.
bool has_model(const std::filesystem::path& folder, const RunResult& result);

// The model of a run in the folder; null for an outside solver and where there is none.
std::shared_ptr<const Coupling> find_model(const Context& context, const BenchmarkPair& pair,
                                           const std::filesystem::path& folder,
                                           const RunResult& result);

// The pair of a result, as its run or the result itself names it; nothing where it is not there any
// more, as a pair folder that was moved after the run, or another one by now.
std::optional<BenchmarkPair> find_pair(const std::filesystem::path& folder,
                                       const RunResult& result);

// Losses along the training of each run that has a log:
//   [{run, method, solver, pair, loss, num_steps, seed, points: [[update, loss, seconds, held out
//     or null]..],
//     validation: {score, title, unit, points: [[update, seconds, value, error]..]} or null}],
//   at most 300 points each. `validation` is of runs that were scored while they trained.
nlohmann::json training_curves(const std::filesystem::path& folder,
                               const std::vector<RunResult>& results);

}  // namespace bridgemark
