#pragma once

#include "bridgemark/math/adamw.h"

namespace bridgemark::backend::cuda {

// With the hardware's root and quotient, good to 2 units in the last place.
__device__ inline void update_parameter(const AdamWStep& step, float gradient, float& parameter,
                                        float& first, float& second) {
  adamw(step, gradient, parameter, first, second, [](float m, float v, float epsilon) {
    float root;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(v));
    return __fdividef(m, root + epsilon);
  });
}

}  // namespace bridgemark::backend::cuda
