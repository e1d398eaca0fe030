#pragma once

#include <string>

#include "bridgemark/metric/own_data/compare_on.h"

namespace bridgemark {

// "1.31 ± 0.12": the error to two significant digits and the value to as many decimals; without an
// error four significant digits.
std::string estimate_text(const MeanEstimate& estimate);

// The sentence of a difference: "a is nearer to the bridge than b by 1.31 ± 0.12 nats".
std::string difference_text(const ContestantDifference& difference);

// What a list of labels shows of each sampler.
inline constexpr const char* kLabelScores[] = {kHeldOutObjective, kDataShape, kDataC2stAuc};

// "label 3, 40 rows of x0 and 50 of x1".
std::string label_heading(const LabelComparison& label);

// The score with what is beside it in brackets; "-" where it is missing.
std::string label_score_text(const DataScore& score);

// What was compared and who was trained on what, a line each.
std::string comparison_heading(const DataComparison& comparison);

// A comparison for people: the heading, then each score with what it means and a line for each
// sampler, then the labels where rows have some. No line break at the end.
std::string comparison_text(const DataComparison& comparison);

}  // namespace bridgemark
