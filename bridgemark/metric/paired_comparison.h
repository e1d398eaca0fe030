#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "bridgemark/metric/block_means.h"

namespace bridgemark {

// Two scores are told apart where the interval of their difference at this confidence excludes 0.
// A column of a table makes about ten comparisons with its best row: at 0.95 each, rows that are
// equally good would often be torn apart.
inline constexpr double kComparisonConfidence = 0.99;
// Of the part that comes from the spread of a solver's trainings, known from a few of them.
inline constexpr double kTrainingConfidence = 0.95;
inline constexpr std::size_t kResamples = 2000;
inline constexpr std::size_t kFewestComparedBlocks = 10;  // fewer say too little of the inputs

struct Comparison {
  double difference = 0.0;  // of the means, first minus second
  double half_width = 0.0;  // of its interval towards 0: the smallest gap that would be told apart

  bool separated() const { return std::abs(difference) > half_width; }
};

// The trainings of one method, each by the block means of its score on the same test inputs.
using Trainings = std::vector<const BlockMeans*>;

// What is known beforehand of the spread of a method's trainings, and how much it weighs.
struct ExpectedSpread {
  double variance = 0.0;  // of one training
  double degrees_of_freedom = 0.0;
};

// Compares methods on the test inputs that they share. The interval over inputs comes from a
// bootstrap of the blocks: both methods take the same blocks, so what makes an input hard for both
// cancels. Resampled means are taken in units of the resample's own standard error (studentised):
// so the level holds with few and skewed blocks, where quantiles of the mean itself separate equal
// methods too often. The interval is as skewed as the blocks are, and its side towards 0 counts: a
// method that fails on a few inputs alone is told apart by them.
//
// Methods with several trainings are compared as solvers: the spread of their trainings widens the
// interval, by Student's t with Welch's degrees of freedom, as a bootstrap of two or three
// trainings would be far too narrow. The t of two trainings alone is 12.7, so that next to nothing
// could be told apart; what is expected of their spread adds its degrees of freedom. The variance
// is then that of both together, but never below that of the trainings themselves. A method with
// one training is that one trained model.
//
// Every comparison of as many blocks takes the same resamples, so it does not depend on what was
// compared before.
class PairedComparer {
 public:
  // None where a training has no blocks, or they are fewer than kFewestComparedBlocks or not of the
  // same inputs.
  std::optional<Comparison> compare(const Trainings& first, const Trainings& second,
                                    const ExpectedSpread& of_first = {},
                                    const ExpectedSpread& of_second = {});

 private:
  // How often each resample takes each block: [kResamples, blocks].
  const std::vector<double>& resamples(std::size_t blocks);

  double half_width_over_inputs(const BlockMeans& differences);

  std::map<std::size_t, std::vector<double>> resamples_;  // by the number of blocks
};

// The t that |T| exceeds with probability 1 - confidence, T of Student's law.
double student_quantile(int degrees_of_freedom, double confidence);

}  // namespace bridgemark
