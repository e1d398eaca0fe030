#pragma once

namespace bridgemark::backend::cuda {

// The hardware's exponential and logarithm, 0 below the range of normal numbers. The error is
// 1e-7 times the exponent, as that of the exponent itself, or 1e-7 of a logarithm.
__device__ inline float fast_exp(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.44269504f));
  return y;
}
__device__ inline float fast_log(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y * 0.69314718f;
}

}  // namespace bridgemark::backend::cuda
