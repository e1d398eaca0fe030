#pragma once

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/estimate.h"

namespace bridgemark {

// Shape and trend of two sets of rows (sample_scores.h) with their errors. The total variation is
// half the mean of sign(p - q) over the rows of one set less that over the other (sample_blocks.h),
// so its error is that of two means of independent rows, the signs taken as given: too wide rather
// than too narrow. The error of the trends is NaN where S^2 cells are too many to tabulate.
struct MarginalFit {
  MeanEstimate shape;
  MeanEstimate trend;
  MeanEstimate trend_offdiagonal;  // NaN with one coordinate
};

// Sets of any sizes, none empty, of states of 0..num_categories-1 on the host.
MarginalFit marginal_fit(const Context& context, StatesView truth, StatesView prediction,
                         int num_categories);

// The shape of it alone, quickly: nothing is done for each pair of coordinates.
MeanEstimate marginal_shape(const Context& context, StatesView truth, StatesView prediction,
                            int num_categories);

}  // namespace bridgemark
