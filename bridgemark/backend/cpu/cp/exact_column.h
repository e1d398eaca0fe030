#pragma once

#include <cstddef>

#include "bridgemark/math/exact_log_dot.h"

// Where the training kernels of the CPU leave a scaled product for the exact path.
namespace bridgemark::backend::cpu {

// A scaled product below this may have lost terms to underflow; the terms lost above it are below
// 1e-6 of it in float, 1e-30 in double.
template <typename T>
constexpr T linear_floor() {
  return sizeof(T) == 4 ? T(1e-30f) : T(1e-270);
}

// An entry of a product that was computed exactly: its place, and its logarithm.
struct ExactEntry {
  std::size_t row;
  std::size_t component;
  double log_value;
};

}  // namespace bridgemark::backend::cpu
