#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>

#include "bridgemark/core/context.h"

namespace bridgemark {

// The grain for items of about `operations` additions each: `most`, or so few that a block takes a
// tenth of a second at the most, since an interrupt is heard between blocks.
inline std::size_t prompt_grain(std::size_t most, std::size_t operations) {
  constexpr std::size_t kOperations = std::size_t{1} << 26;
  return std::clamp<std::size_t>(kOperations / std::max<std::size_t>(operations, 1), 1, most);
}

// Calls body(first, last) on disjoint blocks that cover [0, count), on the context's threads.
// Blocks hold `grain` items (the last one fewer) whatever the number of threads, so a body that
// only writes its own items gives the same result for any. The first exception is rethrown, and
// blocks that had not begun by then are left out: so an interrupted context ends the work.
template <typename Body>
void parallel_blocks(const Context& context, std::size_t count, std::size_t grain, Body&& body) {
  grain = std::max<std::size_t>(grain, 1);
  const std::size_t blocks = (count + grain - 1) / grain;
  const int threads =
      static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(context.threads()), blocks));
  if (threads <= 1) {
    for (std::size_t b = 0; b < blocks; ++b) {
      context.throw_if_interrupted();
      body(b * grain, std::min(count, (b + 1) * grain));
    }
    return;
  }
  std::atomic<bool> failed = false;
  std::exception_ptr error;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::size_t b = 0; b < blocks; ++b) {
    if (failed.load(std::memory_order_relaxed)) continue;
    try {
      context.throw_if_interrupted();
      body(b * grain, std::min(count, (b + 1) * grain));
    } catch (...) {
#pragma omp critical(bridgemark_parallel_error)
      if (!error) error = std::current_exception();
      failed.store(true, std::memory_order_relaxed);
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace bridgemark
