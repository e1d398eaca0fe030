#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "bridgemark/process/given_reference.h"
#include "tests/support/dense_oracle.h"

// Factors of low rank and what they stand for.
namespace bridgemark::testing {

// Factors whose entries lie in exp(+-log_spread) before they are scaled; `zeros` of either have a
// zero, but for the first column.
inline LowRankFactors random_low_rank(std::size_t S, std::size_t r, double log_spread,
                                      std::uint64_t seed, double zeros = 0.0) {
  std::mt19937_64 generator(seed);
  const auto unit = [&] { return static_cast<double>(generator() >> 11) * 0x1.0p-53; };
  LowRankFactors factors{Matrix<double>(S, r), Matrix<double>(S, r)};
  for (Matrix<double>* factor : {&factors.u, &factors.v}) {
    for (std::size_t s = 0; s < S; ++s) {
      for (std::size_t j = 0; j < r; ++j) {
        (*factor)(s, j) = std::exp(log_spread * (2.0 * unit() - 1.0));
        if (unit() < zeros && j > 0) (*factor)(s, j) = 0.0;
      }
    }
  }
  for (std::size_t s = 0; s < S; ++s) {
    double sum = 0.0;
    for (std::size_t y = 0; y < S; ++y) {
      for (std::size_t j = 0; j < r; ++j) sum += factors.u(s, j) * factors.v(y, j);
    }
    for (std::size_t j = 0; j < r; ++j) factors.u(s, j) /= sum;
  }
  return factors;
}

// (1 - gamma) I + gamma U V^T, entry by entry.
inline Wide low_rank_step(const LowRankFactors& factors, long double gamma) {
  const std::size_t S = factors.u.rows(), r = factors.u.cols();
  Wide step(S, S, 0.0L);
  for (std::size_t x = 0; x < S; ++x) {
    long double sum = 0.0L;
    for (std::size_t y = 0; y < S; ++y) {
      for (std::size_t j = 0; j < r; ++j) {
        step(x, y) += static_cast<long double>(factors.u(x, j)) * factors.v(y, j);
      }
      sum += step(x, y);
    }
    for (std::size_t y = 0; y < S; ++y) {
      step(x, y) = gamma * step(x, y) / sum + (x == y ? 1.0L - gamma : 0.0L);
    }
  }
  return step;
}

}  // namespace bridgemark::testing
