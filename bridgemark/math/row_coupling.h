#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "bridgemark/math/host_device.h"
#include "bridgemark/math/philox.h"

// Pairs (x0[i], x1[p(i)]) out of a group of rows that were drawn on their own: the permutation p
// with a probability in proportion to prod_i q_ref(x1[p(i)] | x0[i]), by Gibbs steps that each
// exchange two rows or leave them. Every row is used once, so both ends keep their distribution;
// the larger the group, the nearer the pairs come to the bridge.
namespace bridgemark {

inline constexpr std::size_t kCoupledRows = 32;      // of a group: a warp of the GPU
inline constexpr std::uint32_t kCouplingRounds = 2;  // in each, every row meets every other once

// Whether rows i < partner exchange their x1. `gain` is what log q_ref would gain by it, `meeting`
// counts a row's partners over all rounds.
BM_HD inline bool exchanges(const DrawKey& key, std::uint64_t row, std::uint32_t meeting,
                            double gain) {
  return draw_uniform(key, row, meeting) < 1.0 / (1.0 + std::exp(-gain));
}

}  // namespace bridgemark
