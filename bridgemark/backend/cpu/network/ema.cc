#include "bridgemark/backend/cpu/host_only.h"
#include "bridgemark/backend/network_training.h"
#include "bridgemark/core/parallel.h"

namespace bridgemark::backend {

void ema_update(const Context& context, double decay, std::span<const float> parameters,
                std::span<float> average) {
  cpu::require_host(context, "ema_update");
  const auto share = static_cast<float>(1.0 - decay);
  parallel_blocks(context, average.size(), std::size_t{1} << 15,
                  [&](std::size_t first, std::size_t last) {
                    for (std::size_t i = first; i < last; ++i)
                      average[i] += share * (parameters[i] - average[i]);
                  });
}

}  // namespace bridgemark::backend
