#include <cmath>

#include "bridgemark/backend/cp_training.h"
#include "bridgemark/backend/cpu/training_math.h"
#include "bridgemark/core/parallel.h"

namespace bridgemark::backend {

void adamw_update(const Context& context, const AdamWSettings& settings, std::int64_t step,
                  std::span<const float> gradient, std::span<float> parameters,
                  std::span<float> first_moment, std::span<float> second_moment) {
  const auto count = static_cast<double>(step);
  const auto correction1 = static_cast<float>(1.0 / (1.0 - std::pow(settings.beta1, count)));
  const auto correction2 = static_cast<float>(1.0 / (1.0 - std::pow(settings.beta2, count)));
  const auto decay = static_cast<float>(1.0 - settings.learning_rate * settings.weight_decay);
  parallel_blocks(
      context, parameters.size(), std::size_t{1} << 15, [&](std::size_t first, std::size_t last) {
        cpu::adamw_row(
            gradient.data() + first, last - first, static_cast<float>(settings.learning_rate),
            decay, static_cast<float>(settings.beta1), static_cast<float>(settings.beta2),
            correction1, correction2, static_cast<float>(settings.epsilon),
            parameters.data() + first, first_moment.data() + first, second_moment.data() + first);
      });
}

}  // namespace bridgemark::backend
