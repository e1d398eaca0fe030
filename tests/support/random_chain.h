#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "bridgemark/bridge/chain_potential.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"

namespace bridgemark::testing {

inline Array3<double> random_array(std::size_t a, std::size_t b, std::size_t c, double spread,
                                   std::mt19937_64& generator) {
  Array3<double> values(a, b, c);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values.data()[i] = spread * (2.0 * unit(generator) - 1.0);
  }
  return values;
}

// Weights, moves and cores within exp(+-spread).
inline ChainPotential random_chain(std::size_t D, std::size_t S, std::size_t K, double spread,
                                   std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> log_start(K);
  for (double& value : log_start) value = spread * unit(generator);
  Array3<double> moves = random_array(D - 1, K, K, spread, generator);
  return {std::move(log_start), std::move(moves), random_array(D, S, K, spread, generator)};
}

// v by every path of the hidden chain, one by one.
inline std::vector<long double> potential_by_paths(const ChainPotential& chain,
                                                   const States& states) {
  const std::size_t D = chain.dim(), K = chain.num_components();
  const States paths = all_states(D, static_cast<int>(K));
  std::vector<long double> v(states.rows());
  for (std::size_t x = 0; x < states.rows(); ++x) {
    for (std::size_t p = 0; p < paths.rows(); ++p) {
      long double log_weight = 0.0L;
      for (std::size_t d = 0; d < D; ++d) {
        const auto k = static_cast<std::size_t>(paths(p, d));
        log_weight += d == 0
                          ? chain.log_start()[k]
                          : chain.log_moves()(d - 1, static_cast<std::size_t>(paths(p, d - 1)), k);
        log_weight += chain.log_cores()(d, static_cast<std::size_t>(states(x, d)), k);
      }
      v[x] += std::exp(log_weight);
    }
  }
  return v;
}

}  // namespace bridgemark::testing
