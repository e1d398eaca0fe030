#pragma once

#include <cstdint>
#include <span>

#include "bridgemark/core/context.h"
#include "bridgemark/math/adamw.h"

// What a training on the CPU does to whole arrays once it has their gradient.
namespace bridgemark::backend {

// AdamW; step counts from 1.
void adamw_update(const Context& context, const AdamWSettings& settings, std::int64_t step,
                  std::span<const float> gradient, std::span<float> parameters,
                  std::span<float> first_moment, std::span<float> second_moment);

// average = (1 - share) * average + share * parameters.
void average_update(const Context& context, double share, std::span<const float> parameters,
                    std::span<float> average);

}  // namespace bridgemark::backend
