#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "bridgemark/math/categorical.h"
#include "bridgemark/math/host_device.h"
#include "bridgemark/math/log_domain.h"

// A hidden chain along the coordinates of one row x: state z_1 falls with weight start[z_1], z_d
// with weight moves[d-1][z_{d-1}, z_d], and each is weighed by emission[d, x^d, z_d]. Sums over all
// paths are products of D matrices of K x K, made from either end.
namespace bridgemark {

// The tables of a chain, for host or device. Linear ones are exponentials: start scaled to a
// maximum of 1, each matrix of moves as well, and the emissions of each (d, s).
struct HiddenChain {
  std::size_t D, S, K;
  const double *log_start, *start;        // [K]
  const double *log_moves, *moves;        // [D-1,K,K], row z_{d-1}
  const double *log_emission, *emission;  // [D,S,K]

  BM_HD const double* log_emission_at(const std::int32_t* x, std::size_t d) const {
    return log_emission + (d * S + static_cast<std::size_t>(x[d])) * K;
  }
  BM_HD const double* emission_at(const std::int32_t* x, std::size_t d) const {
    return emission + (d * S + static_cast<std::size_t>(x[d])) * K;
  }
};

// A chain whose tables are logarithms alone: enough for all but draw_path.
BM_HD inline HiddenChain log_hidden_chain(std::size_t D, std::size_t S, std::size_t K,
                                          const double* log_start, const double* log_moves,
                                          const double* log_emission) {
  return {D, S, K, log_start, nullptr, log_moves, nullptr, log_emission, nullptr};
}

// log sum_i exp(a[i * stride_a] + b[i] + c[i]); c may be null.
BM_HD inline double log_sum_of_sums(const double* a, std::size_t stride_a, const double* b,
                                    const double* c, std::size_t count) {
  double high = kLogZero;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = a[i * stride_a] + b[i] + (c ? c[i] : 0.0);
    if (value > high) high = value;
  }
  if (high == kLogZero) return kLogZero;
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += std::exp(a[i * stride_a] + b[i] + (c ? c[i] : 0.0) - high);
  }
  return high + std::log(sum);
}

// before[d,k] = log of the weight of all paths that come to z_d = k, the emission at d left out.
BM_HD inline void log_paths_before(const HiddenChain& chain, const std::int32_t* x,
                                   double* before) {
  const std::size_t K = chain.K;
  for (std::size_t k = 0; k < K; ++k) before[k] = chain.log_start[k];
  for (std::size_t d = 1; d < chain.D; ++d) {
    const double* last = before + (d - 1) * K;
    const double* moves = chain.log_moves + (d - 1) * K * K;
    for (std::size_t k = 0; k < K; ++k) {
      before[d * K + k] = log_sum_of_sums(moves + k, K, last, chain.log_emission_at(x, d - 1), K);
    }
  }
}

// after[d,k] = log of the weight of all paths that go on from z_d = k, the emission at d left out.
BM_HD inline void log_paths_after(const HiddenChain& chain, const std::int32_t* x, double* after) {
  const std::size_t K = chain.K, D = chain.D;
  for (std::size_t k = 0; k < K; ++k) after[(D - 1) * K + k] = 0.0;
  for (std::size_t d = D - 1; d-- > 0;) {
    const double* next = after + (d + 1) * K;
    const double* moves = chain.log_moves + d * K * K;
    for (std::size_t k = 0; k < K; ++k) {
      after[d * K + k] =
          log_sum_of_sums(moves + k * K, 1, next, chain.log_emission_at(x, d + 1), K);
    }
  }
}

// others[d,k] = log of the weight of all paths with z_d = k, the emission at d left out.
// scratch [D,K].
BM_HD inline void log_other_paths(const HiddenChain& chain, const std::int32_t* x, double* others,
                                  double* scratch) {
  log_paths_before(chain, x, others);
  log_paths_after(chain, x, scratch);
  for (std::size_t i = 0; i < chain.D * chain.K; ++i) others[i] += scratch[i];
}

// The logarithm of the weight of all paths. scratch [2,K].
BM_HD inline double log_all_paths(const HiddenChain& chain, const std::int32_t* x,
                                  double* scratch) {
  const std::size_t K = chain.K;
  double *last = scratch, *next = scratch + K;
  for (std::size_t k = 0; k < K; ++k) last[k] = chain.log_start[k];
  for (std::size_t d = 1; d < chain.D; ++d) {
    const double* moves = chain.log_moves + (d - 1) * K * K;
    for (std::size_t k = 0; k < K; ++k) {
      next[k] = log_sum_of_sums(moves + k, K, last, chain.log_emission_at(x, d - 1), K);
    }
    double* const swapped = last;
    last = next;
    next = swapped;
  }
  return log_sum_of_sums(chain.log_emission_at(x, chain.D - 1), 1, last, nullptr, K);
}

// What underflow may have taken from an entry after one more product of K terms that was divided by
// `high`, where it may have taken `lost` before; infinite where all is lost.
BM_HD inline double lost_to_underflow(double lost, double high, std::size_t K) {
  constexpr double kSmallest = 1e-307;
  return static_cast<double>(K) * (lost + kSmallest) / high;
}

// The paths so far, on a linear scale and one coordinate further: next[k] is the sum over i of
// last[i] emission[i] moves[i,k]. Where all of them are small they are scaled to a maximum of 1.
// Returns what they were divided by.
BM_HD inline double scaled_paths_step(const double* last, const double* emission,
                                      const double* moves, std::size_t K, double* next) {
  constexpr double kSmall = 1e-60;
  for (std::size_t k = 0; k < K; ++k) next[k] = 0.0;
  for (std::size_t i = 0; i < K; ++i) {
    const double weight = last[i] * emission[i];
    for (std::size_t k = 0; k < K; ++k) next[k] += weight * moves[i * K + k];
  }
  double high = 0.0;
  for (std::size_t k = 0; k < K; ++k) {
    if (next[k] > high) high = next[k];
  }
  if (high >= kSmall) return 1.0;
  for (std::size_t k = 0; k < K; ++k) next[k] /= high;
  return high;
}

// The paths that go on, on a linear scale: each after[d,:] scaled to a maximum of 1. Returns a
// bound on what underflow may have taken from an entry.
BM_HD inline double scaled_paths_after(const HiddenChain& chain, const std::int32_t* x,
                                       double* after) {
  const std::size_t K = chain.K, D = chain.D;
  for (std::size_t k = 0; k < K; ++k) after[(D - 1) * K + k] = 1.0;
  double lost = 0.0;
  for (std::size_t d = D - 1; d-- > 0;) {
    const double* next = after + (d + 1) * K;
    const double* emission = chain.emission_at(x, d + 1);
    const double* moves = chain.moves + d * K * K;
    double high = 0.0;
    for (std::size_t k = 0; k < K; ++k) {
      double sum = 0.0;
      for (std::size_t to = 0; to < K; ++to) sum += moves[k * K + to] * (emission[to] * next[to]);
      after[d * K + k] = sum;
      if (sum > high) high = sum;
    }
    lost = lost_to_underflow(lost, high, K);
    for (std::size_t k = 0; k < K; ++k) after[d * K + k] /= high;
  }
  return lost;
}

// Draws a path z [D] by its weight; uniform(d) is a draw on [0, 1) for z_d. scratch [D+1,K].
template <typename Uniform>
BM_HD inline void draw_path(const HiddenChain& chain, const std::int32_t* x, Uniform&& uniform,
                            std::int32_t* path, double* scratch) {
  constexpr double kPrecision = 1e-20;  // of a total, that may be lost
  const std::size_t K = chain.K;
  double *after = scratch, *sums = scratch + chain.D * K;
  const double lost = scaled_paths_after(chain, x, after);
  bool sure = lost < kPrecision;
  for (std::size_t d = 0; sure && d < chain.D; ++d) {
    const double* weights =
        d == 0 ? chain.start
               : chain.moves + ((d - 1) * K + static_cast<std::size_t>(path[d - 1])) * K;
    const double* emission = chain.emission_at(x, d);
    double sum = 0.0;
    for (std::size_t k = 0; k < K; ++k) {
      sum += weights[k] * emission[k] * after[d * K + k];
      sums[k] = sum;
    }
    sure = sum * kPrecision > static_cast<double>(K) * lost && sum > kLinearFloor;
    if (sure) path[d] = static_cast<std::int32_t>(draw_category(sums, K, uniform(d)));
  }
  if (sure) return;
  log_paths_after(chain, x, after);
  for (std::size_t d = 0; d < chain.D; ++d) {
    const double* weights =
        d == 0 ? chain.log_start
               : chain.log_moves + ((d - 1) * K + static_cast<std::size_t>(path[d - 1])) * K;
    const double* emission = chain.log_emission_at(x, d);
    for (std::size_t k = 0; k < K; ++k) sums[k] = weights[k] + emission[k] + after[d * K + k];
    cumulate_log(sums, K, sums);
    path[d] = static_cast<std::int32_t>(draw_category(sums, K, uniform(d)));
  }
}

}  // namespace bridgemark
