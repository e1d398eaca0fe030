#pragma once

#include <cstddef>
#include <cstdint>

#include "bridgemark/core/array.h"

namespace bridgemark::testing {

// All S^D states [S^D, D] in lexicographic order: the last coordinate runs fastest.
inline States all_states(std::size_t dim, int num_categories) {
  std::size_t count = 1;
  for (std::size_t d = 0; d < dim; ++d) count *= static_cast<std::size_t>(num_categories);
  States states(count, dim);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    for (std::size_t d = dim; d-- > 0;) {
      states(i, d) = static_cast<std::int32_t>(rest % static_cast<std::size_t>(num_categories));
      rest /= static_cast<std::size_t>(num_categories);
    }
  }
  return states;
}

// The row of all_states that holds `state`.
inline std::size_t state_index(const std::int32_t* state, std::size_t dim, int num_categories) {
  std::size_t index = 0;
  for (std::size_t d = 0; d < dim; ++d) {
    index = index * static_cast<std::size_t>(num_categories) + static_cast<std::size_t>(state[d]);
  }
  return index;
}

// `count` copies of one row.
inline States repeat_row(StatesView states, std::size_t row, std::size_t count) {
  States repeated(count, states.cols);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(states.row(row), states.cols, repeated.row(i));
  }
  return repeated;
}

// Every ordered pair of rows: from[i * M + j] = states[i], to[i * M + j] = states[j].
struct StatePairs {
  States from;
  States to;
};

inline StatePairs all_pairs(StatesView states) {
  const std::size_t M = states.rows;
  StatePairs pairs{States(M * M, states.cols), States(M * M, states.cols)};
  for (std::size_t i = 0; i < M; ++i) {
    for (std::size_t j = 0; j < M; ++j) {
      std::copy_n(states.row(i), states.cols, pairs.from.row(i * M + j));
      std::copy_n(states.row(j), states.cols, pairs.to.row(i * M + j));
    }
  }
  return pairs;
}

}  // namespace bridgemark::testing
