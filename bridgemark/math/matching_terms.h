#pragma once

#include "bridgemark/math/host_device.h"

// The losses of bridge matching, category by category: a model's probability m against its target
// t.
//   KL   sum t (log t - log m)
//   MSE  sum (m - t)^2
// Gradients start from the slopes d term / d log m. Where m is the softmax of w,
//   d loss / d w = slope - m * (the sum of all slopes),
// and that sum is -1 for the KL, whose slopes are the targets'. The vector kernel of DLightSB-M has
// the same (cpu/cp/transition_loss.cc); a test holds them together.
namespace bridgemark {

enum class MatchingLoss { kKl, kMse };

// log_ratio = log t - log m is read by the KL alone, and only where t is above 0.
template <typename T>
BM_HD inline T matching_term(MatchingLoss kind, T t, T m, T log_ratio) {
  if (kind == MatchingLoss::kKl) return t > T(0) ? t * log_ratio : T(0);
  return (m - t) * (m - t);
}

template <typename T>
BM_HD inline T matching_slope(MatchingLoss kind, T t, T m) {
  return kind == MatchingLoss::kKl ? -t : T(2) * (m - t) * m;
}

}  // namespace bridgemark
