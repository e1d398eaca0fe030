#include "bridgemark/metric/block_means.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace bridgemark {

namespace {

// Six significant digits are far finer than any block's noise, and half as long in a file.
double rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

BlockMeans checked_and_rounded(BlockMeans blocks) {
  if (!std::ranges::all_of(blocks.means,
                           [](double mean) { return std::abs(mean) <= kMaxBlockMean; })) {
    return {};
  }
  std::ranges::transform(blocks.means, blocks.means.begin(), rounded);
  return blocks;
}

}  // namespace

BlockMeans block_means(std::span<const double> values) {
  BlockMeans blocks{values.size(), std::vector<double>(std::min(kMeanBlocks, values.size()), 0.0)};
  for (std::size_t b = 0; b < blocks.means.size(); ++b) {
    const std::size_t count = blocks.block_rows(b);
    for (const double value : values.subspan(blocks.first_row(b), count)) blocks.means[b] += value;
    blocks.means[b] /= static_cast<double>(count);
  }
  return checked_and_rounded(std::move(blocks));
}

BlockMeans mean_of_blocks(std::span<const BlockMeans> repetitions) {
  if (repetitions.empty()) return {};
  BlockMeans mean{repetitions[0].rows, std::vector<double>(repetitions[0].means.size(), 0.0)};
  for (const BlockMeans& blocks : repetitions) {
    if (blocks.rows != mean.rows || blocks.means.size() != mean.means.size()) return {};
    for (std::size_t b = 0; b < mean.means.size(); ++b) mean.means[b] += blocks.means[b];
  }
  for (double& value : mean.means) value /= static_cast<double>(repetitions.size());
  return checked_and_rounded(std::move(mean));
}

}  // namespace bridgemark
