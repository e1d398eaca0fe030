#pragma once

#include <cmath>

// Draws of CSBM's chains over categories, by groups of kDrawLanes lanes of a warp, each with a
// share of consecutive categories. All lanes of the warp call together; a group with nothing to
// draw passes count 0. The sums are those of the CPU up to their order.
namespace bridgemark::backend::cuda {

inline constexpr int kDrawLanes = 8;
inline constexpr unsigned kWholeWarp = 0xffffffffu;

__device__ inline int draw_lane() { return static_cast<int>(threadIdx.x) % kDrawLanes; }

// The category that a uniform on [0, 1) falls in by the given weights; one of weight 0 is never
// drawn, and weights that are not numbers give some category.
__device__ inline int draw_weighted(const float* weights, int count, double uniform) {
  const int lane = draw_lane(), share = (count + kDrawLanes - 1) / kDrawLanes;
  const int first = min(lane * share, count), last = min(first + share, count);
  float sum = 0.0f;
  for (int s = first; s < last; ++s) sum += weights[s];
  for (int offset = 1; offset < kDrawLanes; offset *= 2) {
    const float before = __shfl_up_sync(kWholeWarp, sum, offset, kDrawLanes);
    if (lane >= offset) sum += before;
  }
  const float total = __shfl_sync(kWholeWarp, sum, kDrawLanes - 1, kDrawLanes);
  float running = __shfl_up_sync(kWholeWarp, sum, 1, kDrawLanes);
  if (lane == 0) running = 0.0f;
  const auto threshold = static_cast<float>(uniform * static_cast<double>(total));
  int found = -1, drawable = -1;
  for (int s = first; s < last; ++s) {
    running += weights[s];
    if (weights[s] > 0.0f) {
      drawable = s;
      if (found < 0 && running > threshold) found = s;
    }
  }
  // The first lane that found one; where rounding kept the sum below, the last that can be drawn.
  const int shift = static_cast<int>(threadIdx.x) % 32 / kDrawLanes * kDrawLanes;
  constexpr unsigned kGroup = (1u << kDrawLanes) - 1;
  const unsigned finders = __ballot_sync(kWholeWarp, found >= 0) >> shift & kGroup;
  const unsigned holders = __ballot_sync(kWholeWarp, drawable >= 0) >> shift & kGroup;
  const int source = finders != 0   ? __ffs(static_cast<int>(finders)) - 1
                     : holders != 0 ? 31 - __clz(static_cast<int>(holders))
                                    : 0;
  const int drawn = __shfl_sync(kWholeWarp, found >= 0 ? found : drawable, source, kDrawLanes);
  return drawn < 0 ? 0 : drawn;
}

// The same with the softmax of logits + tilt as weights; tilt may be null. The logits become the
// weights.
__device__ inline int draw_softmax(float* logits, const float* tilt, int count, double uniform) {
  constexpr float kLowest = -87.0f;  // near the smallest normal exponential
  const int share = (count + kDrawLanes - 1) / kDrawLanes;
  const int first = min(draw_lane() * share, count), last = min(first + share, count);
  float high = -INFINITY;
  for (int s = first; s < last; ++s) {
    if (tilt != nullptr) logits[s] += tilt[s];
    high = fmaxf(high, logits[s]);
  }
  for (int offset = kDrawLanes / 2; offset > 0; offset /= 2) {
    high = fmaxf(high, __shfl_xor_sync(kWholeWarp, high, offset, kDrawLanes));
  }
  for (int s = first; s < last; ++s) {
    const float x = logits[s] - high;
    logits[s] = x >= kLowest ? expf(x) : 0.0f;
  }
  return draw_weighted(logits, count, uniform);
}

}  // namespace bridgemark::backend::cuda
