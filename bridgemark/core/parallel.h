#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>

#include "bridgemark/core/context.h"

namespace bridgemark {

// Calls body(first, last) on disjoint blocks that cover [0, count), on the context's threads.
// Blocks hold `grain` items (the last one fewer) whatever the number of threads, so a body that
// only writes its own items gives the same result for any. The first exception is rethrown.
template <typename Body>
void parallel_blocks(const Context& context, std::size_t count, std::size_t grain, Body&& body) {
  grain = std::max<std::size_t>(grain, 1);
  const std::size_t blocks = (count + grain - 1) / grain;
  const int threads =
      static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(context.threads()), blocks));
  if (threads <= 1) {
    for (std::size_t b = 0; b < blocks; ++b) {
      body(b * grain, std::min(count, (b + 1) * grain));
    }
    return;
  }
  std::exception_ptr error;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::size_t b = 0; b < blocks; ++b) {
    try {
      body(b * grain, std::min(count, (b + 1) * grain));
    } catch (...) {
#pragma omp critical(bridgemark_parallel_error)
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace bridgemark
