#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bridgemark {

// A mean over test inputs, cut into blocks of consecutive ones. Every method on a pair is scored on
// the same inputs, so the blocks of two methods are paired: how much the difference of their scores
// depends on the inputs can be told from these few numbers.
struct BlockMeans {
  std::size_t rows = 0;       // inputs in all blocks together
  std::vector<double> means;  // of each block; empty where the score is no mean over inputs

  // Inputs in block b: all differ by at most one.
  std::size_t block_rows(std::size_t b) const { return first_row(b + 1) - first_row(b); }
  // The input that block b begins with.
  std::size_t first_row(std::size_t b) const { return b * rows / means.size(); }

  bool operator==(const BlockMeans&) const = default;
};

// Enough for an interval of a difference, and few enough to be recorded with every score.
inline constexpr std::size_t kMeanBlocks = 40;
// The most inputs that a record may speak of.
inline constexpr std::size_t kMaxBlockRows = std::size_t{1} << 32;
// No score comes near it, and squares stay finite.
inline constexpr double kMaxBlockMean = 1e100;

// Of one value for each input, in at most kMeanBlocks blocks, rounded to six significant digits.
// None where a mean is not finite or beyond kMaxBlockMean.
BlockMeans block_means(std::span<const double> values);

// The mean of the blocks of several repetitions on the same inputs, rounded alike. None where one
// repetition has none.
BlockMeans mean_of_blocks(std::span<const BlockMeans> repetitions);

}  // namespace bridgemark
