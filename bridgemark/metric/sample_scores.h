#pragma once

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// How well the low-dimensional marginals of two sets of states agree: each score is a mean of
// 1 - TV, where TV is the total variation between empirical distributions. 1 is agreement. Two
// finite samples of one distribution score below 1, the more so the more cells a marginal has.
struct SampleScores {
  double shape = 0;              // over the D coordinates
  double trend = 0;              // over all D^2 ordered pairs; the diagonal repeats the shape score
  double trend_offdiagonal = 0;  // over the pairs of two different coordinates; NaN when D = 1
};

// Scores the states of `prediction` against those of `truth`. The sets may differ in size: each is
// normalised by its own number of rows. Counts are integers and each TV is one exact fraction,
// rounded once, so the result does not depend on the order of the rows or on the threads.
// Time O(D^2 (n + min(S^2, n log n))) for n rows in all; memory one copy of the states, and for
// each thread at most 8 MB or 8 bytes a row.
// Sets that lie on the context's device are counted there.
// Throws InvalidArgument when a set is empty, has another number of columns, or holds a value
// outside 0..num_categories-1.
SampleScores score_samples(const Context& context, StatesView truth, StatesView prediction,
                           int num_categories);

// The entropy of the empirical marginal of a coordinate, in nats, averaged over the coordinates.
// The published table reports it of the true samples.
double mean_marginal_entropy(StatesView states, int num_categories, const Context& context = {});

// The shape score with the truth's marginals in closed form, log_marginals[D,S]: only the noise
// of the prediction is left. Throws InvalidArgument when a row does not sum to 1.
double shape_against_exact(StatesView prediction, MatrixView<const double> log_marginals,
                           const Context& context = {});

// The shape score between closed-form marginals, each [D,S]: free of any sampling noise.
double shape_between_marginals(MatrixView<const double> log_p, MatrixView<const double> log_q);

}  // namespace bridgemark
