#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace bridgemark {

// NumPy's own limit on the number of axes.
inline constexpr std::size_t kMaxRank = 64;

// "[3, 4]"; "[]" for a scalar.
std::string format_shape(std::span<const std::size_t> shape);

// The number of elements. Empty if an array of this shape, its zero extents taken as one, would
// hold more than 2^63 - 1 bytes: then neither the count nor an offset is safe to compute with.
std::optional<std::size_t> element_count(std::span<const std::size_t> shape,
                                         std::size_t item_bytes);

}  // namespace bridgemark
