#pragma once

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

// States as the counts of scores want them.
namespace bridgemark {

// Columns that share a line of the cache: a thread's at the least.
inline constexpr std::size_t kLineColumns = 16;

// [D, n] of states on the host: a column lies contiguous, so counting a pair streams through two.
States transposed(const Context& context, StatesView states);

// A copy on the host of states on the context's device.
States fetched(const Context& context, StatesView states);

}  // namespace bridgemark
