#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bridgemark/process/given_reference.h"
#include "tests/support/dense_oracle.h"

// The elementary steps of references most of whose entries are 0, entry by entry.
namespace bridgemark::testing {

inline Wide birth_death_step(std::size_t S, long double gamma) {
  Wide step(S, S, 0.0L);
  for (std::size_t x = 0; x < S; ++x) {
    step(x, x) = 1.0L - gamma;
    step(x, x == 0 ? 0 : x - 1) += gamma / 2.0L;
    step(x, x + 1 == S ? x : x + 1) += gamma / 2.0L;
  }
  return step;
}

inline Wide absorbing_step(std::size_t S, long double gamma) {
  Wide step(S, S, 0.0L);
  for (std::size_t x = 0; x < S; ++x) {
    step(x, x) += 1.0L - gamma;
    step(x, S - 1) += gamma;
  }
  return step;
}

inline Wide graph_step(const GraphWeights& weights, long double gamma) {
  const std::size_t S = weights.num_categories();
  Wide given(S, S, 0.0L), step(S, S, 0.0L);
  long double largest = 0.0L;
  for (std::size_t x = 0; x < S; ++x) {
    long double sum = 0.0L;
    for (auto i = static_cast<std::size_t>(weights.first[x]);
         i < static_cast<std::size_t>(weights.first[x + 1]); ++i) {
      given(x, static_cast<std::size_t>(weights.to[i])) += weights.weight[i];
      sum += weights.weight[i];
    }
    largest = std::max(largest, sum);
  }
  for (std::size_t x = 0; x < S; ++x) {
    long double moved = 0.0L;
    for (std::size_t y = 0; y < S; ++y) {
      if (y == x) continue;
      step(x, y) = gamma * given(x, y) / largest;
      moved += step(x, y);
    }
    step(x, x) = 1.0L - moved;
  }
  return step;
}

// A ring that is quicker one way round than the other, with a chord: connected, and not symmetric.
inline GraphWeights uneven_ring(std::size_t S) {
  GraphWeights weights{{0}, {}, {}};
  const auto add = [&](std::size_t to, double weight) {
    weights.to.push_back(static_cast<std::int32_t>(to));
    weights.weight.push_back(weight);
  };
  for (std::size_t x = 0; x < S; ++x) {
    add((x + S - 1) % S, 0.5);
    add((x + 1) % S, 2.0 + 0.25 * static_cast<double>(x));
    if (x == 0) add(S / 2, 1.0);
    weights.first.push_back(static_cast<std::int64_t>(weights.to.size()));
  }
  return weights;
}

}  // namespace bridgemark::testing
