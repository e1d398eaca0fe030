#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bridgemark::backend::cuda {

// Updates whose settings and losses the device holds at a time.
inline constexpr std::size_t kMaxUpdatesOfRun = 4096;
// Updates that a run had best be asked for: enough to hide its start, few enough to be stopped.
inline constexpr std::int64_t kUpdatesAtOnce = 256;

// Calls run_part(first, count) until `count` updates are done.
template <typename RunPart>
void run_in_parts(std::size_t count, RunPart&& run_part) {
  for (std::size_t first = 0; first < count; first += kMaxUpdatesOfRun) {
    run_part(first, std::min(kMaxUpdatesOfRun, count - first));
  }
}

}  // namespace bridgemark::backend::cuda
