#pragma once

#include <chrono>

namespace bridgemark {

// What durations are measured with: it never goes back.
using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace bridgemark
