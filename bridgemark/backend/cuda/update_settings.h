#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bridgemark/backend/cp_training.h"

namespace bridgemark::backend::cuda {

// AdamW's numbers of one update, made on the host; adamw.h has the step.
struct UpdateSettings {
  float rate;         // learning rate times the correction of the first moment
  float correction2;  // of the second moment
  float decay;
  float beta1, beta2, epsilon;
};

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

inline UpdateSettings update_settings(const AdamWSettings& adamw, std::int64_t step) {
  const AdamWFactors factors = adamw_factors(adamw, step);
  return {static_cast<float>(adamw.learning_rate) * factors.correction1,
          factors.correction2,
          factors.decay,
          static_cast<float>(adamw.beta1),
          static_cast<float>(adamw.beta2),
          static_cast<float>(adamw.epsilon)};
}

}  // namespace bridgemark::backend::cuda
