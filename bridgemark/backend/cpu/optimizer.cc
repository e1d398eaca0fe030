#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/simd/training_math.h"
#include "bridgemark/core/parallel.h"

namespace bridgemark::backend::cpu {

void CpuBackend::adamw_update(const Context& context, const AdamWSettings& settings,
                              std::int64_t step, std::span<const float> gradient,
                              std::span<float> parameters, std::span<float> first_moment,
                              std::span<float> second_moment) const {
  const AdamWStep numbers = adamw_step(settings, step);
  parallel_blocks(
      context, parameters.size(), std::size_t{1} << 15, [&](std::size_t first, std::size_t last) {
        adamw_row(numbers, gradient.data() + first, last - first, parameters.data() + first,
                  first_moment.data() + first, second_moment.data() + first);
      });
}

void CpuBackend::average_update(const Context& context, double share,
                                std::span<const float> parameters, std::span<float> average) const {
  const auto moved = static_cast<float>(share);
  parallel_blocks(context, average.size(), std::size_t{1} << 15,
                  [&](std::size_t first, std::size_t last) {
                    for (std::size_t i = first; i < last; ++i)
                      average[i] += moved * (parameters[i] - average[i]);
                  });
}

}  // namespace bridgemark::backend::cpu
