#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bridgemark/core/context.h"
#include "bridgemark/metric/own_data/compare_on.h"

namespace bridgemark {

// {"x0_rows", "x1_rows", "dim", "num_categories", "compared_rows", "seed",
//  "runs": [{"name", "reference", "training_x0_rows", "training_x1_rows",
//            "trained_on_endless_draws", "overlap": {"x0": {...}, "x1": {...}} or null,
//            "scores": {name: {"value", "standard_error", "beside", "beside_standard_error",
//                              "missing", "note"}}}],
//  "differences": [{"first", "second", "difference", "standard_error", "told_apart", "missing"}],
//  "warnings": [...], "meanings": {name: {"title", "unit", "beside", "better", "meaning",
//  "belief"}}}.
// Of rows with labels there is also "labels": [{"label", and the keys above but "meanings"}], of
// whose scores and differences those above are the means.
// JSON has no infinity: an infinite number is the text "inf" or "-inf". What cannot be given is
// null, and its "missing" says why.
nlohmann::json comparison_json(const DataComparison& comparison);

// The parts of it that others show as well: the scores of one sampler, and a number.
nlohmann::json data_scores_json(const ContestantScores& contestant);
nlohmann::json number_json(double value);

// A comparison with all that says where it comes from: what `evaluate --x0 --json` prints and
// Python returns.
struct DataComparisonRecord {
  DataComparison comparison;
  nlohmann::json record() const;  // comparison_json() with version, device, machine and seconds

  std::string device, machine;
  double seconds = 0.0;
};
DataComparisonRecord record_comparison(const Context& context,
                                       const std::function<DataComparison()>& compare);

}  // namespace bridgemark
