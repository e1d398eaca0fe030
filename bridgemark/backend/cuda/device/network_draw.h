#pragma once

#include <cmath>

#include "bridgemark/backend/cuda/device/fast_math.h"
#include "bridgemark/backend/cuda/device/lanes.h"

// Draws of CSBM's chains over categories, by groups of kDrawLanes lanes of a warp, each with a
// share of consecutive categories. All lanes of the warp call together; a group with nothing to
// draw passes no categories. The sums are those of the CPU up to their order. A category of weight
// 0 is never drawn, and weights that are not numbers give some category.
namespace bridgemark::backend::cuda {

inline constexpr int kDrawLanes = 4;

__device__ inline int draw_lane() { return static_cast<int>(threadIdx.x) % kDrawLanes; }

// The categories of a lane.
struct DrawShare {
  int first, count;
};

__device__ inline DrawShare draw_share(int num_categories) {
  const int share = (num_categories + kDrawLanes - 1) / kDrawLanes;
  const int first = min(draw_lane() * share, num_categories);
  return {first, min(share, num_categories - first)};
}

// From a lane's sum to the sum of the lanes before it and the threshold of a uniform on [0, 1).
__device__ inline void place_threshold(float sum, double uniform, float& before, float& threshold) {
  const int lane = draw_lane();
  for (int offset = 1; offset < kDrawLanes; offset *= 2) {
    const float other = __shfl_up_sync(kWholeWarp, sum, offset, kDrawLanes);
    if (lane >= offset) sum += other;
  }
  const float total = __shfl_sync(kWholeWarp, sum, kDrawLanes - 1, kDrawLanes);
  before = __shfl_up_sync(kWholeWarp, sum, 1, kDrawLanes);
  if (lane == 0) before = 0.0f;
  threshold = static_cast<float>(uniform * static_cast<double>(total));
}

// The category of the first lane that found one beyond the threshold; where rounding kept the sum
// below, the last that can be drawn. -1 means none.
__device__ inline int pick_category(int found, int drawable) {
  const unsigned finders = votes_of_lanes<kDrawLanes>(found >= 0);
  const unsigned holders = votes_of_lanes<kDrawLanes>(drawable >= 0);
  const int source = finders != 0   ? __ffs(static_cast<int>(finders)) - 1
                     : holders != 0 ? 31 - __clz(static_cast<int>(holders))
                                    : 0;
  const int drawn = __shfl_sync(kWholeWarp, found >= 0 ? found : drawable, source, kDrawLanes);
  return drawn < 0 ? 0 : drawn;
}

// The category that a uniform falls in by the given weights.
__device__ inline int draw_weighted(const float* weights, int num_categories, double uniform) {
  const DrawShare share = draw_share(num_categories);
  weights += share.first;
  float sum = 0.0f, running, threshold;
  for (int j = 0; j < share.count; ++j) sum += weights[j];
  place_threshold(sum, uniform, running, threshold);
  int found = -1, drawable = -1;
  for (int j = 0; j < share.count; ++j) {
    running += weights[j];
    if (weights[j] > 0.0f) {
      drawable = share.first + j;
      if (found < 0 && running > threshold) found = drawable;
    }
  }
  return pick_category(found, drawable);
}

// The same with the softmax of logits + log_weights as weights; log_weights may be null. The logits
// become the weights.
__device__ inline int draw_softmax(float* logits, const float* log_weights, int num_categories,
                                   double uniform) {
  const DrawShare share = draw_share(num_categories);
  float high = -INFINITY, *own = logits + share.first;
  for (int j = 0; j < share.count; ++j) {
    if (log_weights != nullptr) own[j] += log_weights[share.first + j];
    high = fmaxf(high, own[j]);
  }
  high = max_of_lanes<kDrawLanes>(high);
  for (int j = 0; j < share.count; ++j) own[j] = fast_exp(own[j] - high);
  return draw_weighted(logits, num_categories, uniform);
}

// The same for up to kDrawLanes * LaneCategories categories: a lane has its share in registers.
template <int LaneCategories>
using LaneWeights = float[LaneCategories];

template <int LaneCategories>
__device__ inline void load_lane(const float* from, const DrawShare& share, float otherwise,
                                 LaneWeights<LaneCategories>& out) {
#pragma unroll
  for (int j = 0; j < LaneCategories; ++j)
    out[j] = j < share.count ? from[share.first + j] : otherwise;
}

template <int LaneCategories>
__device__ inline int draw_lane_weights(const LaneWeights<LaneCategories>& weights, int first,
                                        double uniform) {
  float sum = 0.0f, running, threshold;
#pragma unroll
  for (int j = 0; j < LaneCategories; ++j) sum += weights[j];
  place_threshold(sum, uniform, running, threshold);
  int found = -1, drawable = -1;
#pragma unroll
  for (int j = 0; j < LaneCategories; ++j) {
    running += weights[j];
    if (weights[j] > 0.0f) {
      drawable = first + j;
      if (found < 0 && running > threshold) found = drawable;
    }
  }
  return pick_category(found, drawable);
}

template <int LaneCategories>
__device__ inline int draw_lane_softmax(LaneWeights<LaneCategories>& values, int first,
                                        double uniform) {
  float high = -INFINITY;
#pragma unroll
  for (int j = 0; j < LaneCategories; ++j) high = fmaxf(high, values[j]);
  high = max_of_lanes<kDrawLanes>(high);
#pragma unroll
  for (int j = 0; j < LaneCategories; ++j) values[j] = fast_exp(values[j] - high);
  return draw_lane_weights<LaneCategories>(values, first, uniform);
}

}  // namespace bridgemark::backend::cuda
