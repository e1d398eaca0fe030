#pragma once

#include "bridgemark/core/context.h"

namespace bridgemark::testing {

// The CPU with all its threads.
inline const Context kContext{};

inline Context with_threads(int threads) {
  Context context;
  context.num_threads = threads;
  return context;
}

}  // namespace bridgemark::testing
