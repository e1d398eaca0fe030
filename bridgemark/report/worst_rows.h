#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/results.h"

namespace bridgemark {

inline constexpr std::size_t kReportedWorstRows = 5;  // of each method

// The test rows that carry the joint KL of each method, by its first run that names them:
//   [{pair, methods: [{method, loss, num_steps, training_rows, of_every_number, run, text, rows,
//                      share, worst: [{row, kl, x0: [..], x1: [..], coordinates: [d, d],
//                                      input: [[x,y]], end: [[x,y]], truth: [[x,y]..],
//                                      draws: [[x,y]..], looks}]}]}]
// `text` is the joint KL as tables show it and `share` what the worst hundredth of the `rows` has
// of it, null for an infinite one. A row has its number in the test set, from 0, its own KL
// ("inf" where the solver rules it out, null where an older record does not say) and its states,
// where the pair is a preset or has a run in `folder`. The first rows of a method whose model is
// there have its draws given x0 beside the truth's, on the two coordinates (from 0) that differ
// most, and what the draws look like (draw_defect.h).
nlohmann::json worst_rows(const Context& context, const std::filesystem::path& folder,
                          const std::vector<RunResult>& results);

}  // namespace bridgemark
