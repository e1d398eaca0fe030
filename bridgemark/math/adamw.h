#pragma once

#include <cmath>
#include <cstdint>

#include "bridgemark/math/host_device.h"

// Adam with bias correction and decoupled weight decay. The vector kernels of the CPU have the same
// step (cpu/simd/training_math.cc); a test holds them together.
namespace bridgemark {

struct AdamWSettings {
  double learning_rate = 1e-2;
  double beta1 = 0.95;
  double beta2 = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
};

// What one update needs of the settings: numbers of its own.
struct AdamWStep {
  float rate;         // learning rate times the correction of the first moment's bias
  float correction2;  // of the second moment's
  float decay;
  float beta1, beta2, epsilon;
};

// Update number `count`, from 1.
inline AdamWStep adamw_step(const AdamWSettings& settings, std::int64_t count) {
  const auto updates = static_cast<double>(count);
  return {static_cast<float>(settings.learning_rate) *
              static_cast<float>(1.0 / (1.0 - std::pow(settings.beta1, updates))),
          static_cast<float>(1.0 / (1.0 - std::pow(settings.beta2, updates))),
          static_cast<float>(1.0 - settings.learning_rate * settings.weight_decay),
          static_cast<float>(settings.beta1),
          static_cast<float>(settings.beta2),
          static_cast<float>(settings.epsilon)};
}

// One parameter with its moments. ratio(m, v, epsilon) = m / (sqrt(v) + epsilon), as precise as the
// caller wants it.
template <typename Ratio>
BM_HD inline void adamw(const AdamWStep& step, float gradient, float& parameter, float& first,
                        float& second, Ratio&& ratio) {
  first = fmaf(1.0f - step.beta1, gradient - first, first);
  second = fmaf(1.0f - step.beta2, gradient * gradient - second, second);
  parameter =
      parameter * step.decay - ratio(first * step.rate, second * step.correction2, step.epsilon);
}

}  // namespace bridgemark
