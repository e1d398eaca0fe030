#pragma once

#include <cstddef>

#include "bridgemark/math/host_device.h"

// The reference's step of one coordinate, pinned to its end: from category x with r steps left
//   q_ref(s | x, end) = Q_1[x,s] Q_{r-1}[s,end] / Q_r[x,end],
// where Q_n are the powers of the chain's one-step matrix. Needs Q_r[x,end] above 0.
namespace bridgemark {

// The factors, or their logarithms. Kernels of a GPU index by int, which spares registers.
template <typename T>
struct PinnedStep {
  const T* one;    // Q_1[x,:]
  const T* after;  // Q_{r-1}[:,end], `stride` apart
  int stride;
  T whole;  // Q_r[x,end]

  // Of logarithms.
  template <typename Index>
  BM_HD T log_probability(Index s) const {
    return one[s] + after[s * stride] - whole;
  }

  // Of the factors themselves, with inverse = 1 / whole.
  template <typename Index>
  BM_HD T probability(Index s, T inverse) const {
    return one[s] * after[s * stride] * inverse;
  }
};

// From the powers n = 0, 1, .. as [n][S,S], or their logarithms.
template <typename T>
BM_HD inline PinnedStep<T> pinned_step(const T* powers, std::size_t S, int steps_left,
                                       std::size_t x, std::size_t end) {
  const std::size_t square = S * S;
  const T* whole = powers + static_cast<std::size_t>(steps_left) * square;
  return {powers + square + x * S, whole - square + end, static_cast<int>(S), whole[x * S + end]};
}

}  // namespace bridgemark
