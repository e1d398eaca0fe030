#pragma once

#include <cstdint>
#include <string_view>

#include "bridgemark/core/array.h"

namespace bridgemark {

// Rows of one call at the most: products of sizes then stay far below 2^64.
inline constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 40;

// Throws InvalidArgument unless `states` has `dim` columns and every entry lies in
// 0..num_categories-1. `name` is how the message calls the argument. States in a device's memory
// are looked at where they get there (Backend::take_states): of them only the columns are
// checked.
void check_states(std::string_view name, StatesView states, std::size_t dim, int num_categories);

}  // namespace bridgemark
