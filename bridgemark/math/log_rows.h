#pragma once

#include <cstddef>
#include <cstdint>

#include "bridgemark/math/host_device.h"

namespace bridgemark {

// sum_d log_q[from[d], to[d]] with log_q [S,S]: the logarithm of a whole row's probability under a
// process whose coordinates move alike and on their own.
BM_HD inline double log_of_rows(const double* log_q, std::size_t num_categories,
                                const std::int32_t* from, const std::int32_t* to, std::size_t dim) {
  double sum = 0.0;
  for (std::size_t d = 0; d < dim; ++d) {
    sum +=
        log_q[static_cast<std::size_t>(from[d]) * num_categories + static_cast<std::size_t>(to[d])];
  }
  return sum;
}

}  // namespace bridgemark
