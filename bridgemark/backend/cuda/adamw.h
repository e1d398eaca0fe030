#pragma once

#include "bridgemark/backend/cuda/update_settings.h"

namespace bridgemark::backend::cuda {

// AdamW for one parameter with its moments, with the hardware's root and quotient, good to 2 units
// in the last place.
__device__ inline void adamw(const UpdateSettings& settings, float gradient, float& parameter,
                             float& first, float& second) {
  first = fmaf(1.0f - settings.beta1, gradient - first, first);
  second = fmaf(1.0f - settings.beta2, gradient * gradient - second, second);
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(second * settings.correction2));
  parameter =
      parameter * settings.decay - __fdividef(first * settings.rate, root + settings.epsilon);
}

}  // namespace bridgemark::backend::cuda
