#pragma once

#include <span>

#include "bridgemark/core/context.h"
#include "bridgemark/core/rank_group.h"
#include "bridgemark/math/reproducible_sum.h"

// What a share of a model needs to know of the others. Without ranks nothing changes.
namespace bridgemark::backend {

inline void max_over_ranks(const Context& context, std::span<double> values) {
  if (context.ranks) context.ranks->all_max(values);
}

// The same bits for any number of ranks.
inline void sum_over_ranks(const Context& context, std::span<ReproducibleSum> sums) {
  static_assert(sizeof(ReproducibleSum) == 2 * sizeof(double));
  if (context.ranks && !sums.empty()) context.ranks->all_sum({&sums[0].coarse, 2 * sums.size()});
}

}  // namespace bridgemark::backend
