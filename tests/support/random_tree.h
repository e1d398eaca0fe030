#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "bridgemark/bridge/tree_potential.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"

namespace bridgemark::testing {

// Logarithms in [-spread, spread].
inline TreePotential random_tree(TreeShape shape, std::size_t S, std::size_t K, double spread,
                                 std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto draw = [&] { return spread * (2.0 * unit(generator) - 1.0); };
  std::vector<double> log_root(K);
  for (double& value : log_root) value = draw();
  Array3<double> log_moves(shape.num_nodes() - 1, K, K), log_cores(shape.dim(), S, K);
  for (std::size_t i = 0; i < log_moves.size(); ++i) log_moves.data()[i] = draw();
  for (std::size_t i = 0; i < log_cores.size(); ++i) log_cores.data()[i] = draw();
  return {std::move(shape), std::move(log_root), std::move(log_moves), std::move(log_cores)};
}

// v by every state of every node, one by one.
inline std::vector<long double> potential_by_states(const TreePotential& tree,
                                                    const States& states) {
  const std::size_t D = tree.dim(), M = tree.shape().num_nodes();
  const States hidden = all_states(M, static_cast<int>(tree.num_components()));
  const auto at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
  std::vector<long double> v(states.rows());
  for (std::size_t h = 0; h < hidden.rows(); ++h) {
    long double log_weight = tree.log_root()[at(hidden(h, 0))];
    for (std::size_t i = 1; i < M; ++i) {
      log_weight +=
          tree.log_moves()(i - 1, at(hidden(h, at(tree.shape().parent()[i]))), at(hidden(h, i)));
    }
    for (std::size_t x = 0; x < states.rows(); ++x) {
      long double log_term = log_weight;
      for (std::size_t d = 0; d < D; ++d) {
        log_term +=
            tree.log_cores()(d, at(states(x, d)), at(hidden(h, at(tree.shape().node_of()[d]))));
      }
      v[x] += std::exp(log_term);
    }
  }
  return v;
}

}  // namespace bridgemark::testing
