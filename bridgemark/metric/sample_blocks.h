#pragma once

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/block_means.h"

namespace bridgemark {

// Shape and trend of an answer x1 to each test input, over blocks of inputs.
//
// With sign(s) that of p(s) - q(s), where p and q are the shares of category s among the truth's
// and the answered x1, the total variation is half the sum of sign(s) (p(s) - q(s)): the mean over
// the inputs of (sign(true x1) - sign(answered x1)) / 2. So a score is a mean over inputs, one term
// each, once the signs are known from all of them. Where p and q are samples of one law the signs
// are noise; taking them as given then makes intervals too wide, never too narrow.
struct SampleBlocks {
  BlockMeans shape;
  BlockMeans trend;              // none where S^2 cells are too many to tabulate
  BlockMeans trend_offdiagonal;  // nor with one coordinate
};

// Row i of both sets belongs to input i; both lie on the host, or both on the context's device, and
// are checked states of 0..num_categories-1.
SampleBlocks sample_blocks(const Context& context, StatesView truth, StatesView prediction,
                           int num_categories);

}  // namespace bridgemark
