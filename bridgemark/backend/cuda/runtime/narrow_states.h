#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "bridgemark/backend/plan/device_states.h"

namespace bridgemark::backend::cuda {

inline constexpr unsigned long long kNoPlace = ~0ull;

// out = the integers; *first_bad becomes the least place whose value is none of the categories, and
// has to be kNoPlace before.
void launch_narrow(const DeviceIntegers& given, std::size_t count, int num_categories,
                   std::int32_t* out, unsigned long long* first_bad, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
