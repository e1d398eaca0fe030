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

// Moves an average by a share of the way to the value.
__device__ inline void update_average(float share, float value, float& average) {
  average += share * (value - average);
}

}  // namespace bridgemark::backend::cuda
