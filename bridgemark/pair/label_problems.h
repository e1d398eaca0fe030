#pragma once

#include <span>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/labels.h"
#include "bridgemark/pair/fit_problem.h"

namespace bridgemark {

// The problem of a label's rows.
struct LabelProblem {
  Label label = 0;
  FitProblem problem;
};

// The Schrödinger problem of rows with a label that the reference never moves: a coordinate whose
// reference is the identity. Paths then keep their label, so the bridge given a label is the bridge
// between the rows of that label alone: one problem a label, labels ascending, all over the
// reference of `data`. labels0 and labels1 are of the rows of its x0 and x1. How many rows of
// either end have a label does not matter. Throws InvalidArgument unless `data` is own data with a
// label for each row, and for labels that one end alone has.
std::vector<LabelProblem> problems_by_label(const FitProblem& data, std::span<const Label> labels0,
                                            std::span<const Label> labels1);

// Throws InvalidArgument unless both ends have the same labels.
void check_same_labels(std::span<const LabelGroup> x0, std::span<const LabelGroup> x1);

}  // namespace bridgemark
