#pragma once

#include <cmath>
#include <cstddef>

#include "bridgemark/math/host_device.h"
#include "bridgemark/math/log_domain.h"

// A draw among many items by their weights exp(logs[j] - high). They are summed in blocks of fixed
// size, each in order, so that threads can sum the blocks side by side to the same draw.
namespace bridgemark {

inline constexpr std::size_t kWeightBlock = 256;

BM_HD inline std::size_t weight_blocks(std::size_t count) {
  return (count + kWeightBlock - 1) / kWeightBlock;
}

// The weight of one block; high is the largest logarithm, finite.
BM_HD inline double block_weight(const double* logs, std::size_t count, std::size_t block,
                                 double high) {
  const std::size_t first = block * kWeightBlock;
  const std::size_t last = first + kWeightBlock < count ? first + kWeightBlock : count;
  double sum = 0.0;
  for (std::size_t j = first; j < last; ++j) sum += std::exp(logs[j] - high);
  return sum;
}

// The item that a uniform on [0, 1) falls on. An item of weight 0 is never drawn.
BM_HD inline std::size_t draw_weighted(const double* logs, std::size_t count,
                                       const double* block_weights, double high, double uniform) {
  const std::size_t blocks = weight_blocks(count);
  double total = 0.0;
  for (std::size_t b = 0; b < blocks; ++b) total += block_weights[b];
  const double threshold = uniform * total;
  double sum = 0.0;
  std::size_t block = 0, drawn = count - 1;
  // Rounding may leave the threshold a hair beyond the last sum: then the last item with a weight.
  while (block + 1 < blocks && !(sum + block_weights[block] > threshold)) {
    sum += block_weights[block++];
  }
  const std::size_t first = block * kWeightBlock;
  const std::size_t last = first + kWeightBlock < count ? first + kWeightBlock : count;
  for (std::size_t j = first; j < last; ++j) {
    const double weight = std::exp(logs[j] - high);
    sum += weight;
    if (weight > 0.0) drawn = j;
    if (sum > threshold) break;
  }
  return drawn;
}

}  // namespace bridgemark
