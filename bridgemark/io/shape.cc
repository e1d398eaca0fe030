#include "bridgemark/io/shape.h"

#include <fmt/ranges.h>

#include <cstdint>
#include <limits>

namespace bridgemark {

std::string format_shape(std::span<const std::size_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

std::optional<std::size_t> element_count(std::span<const std::size_t> shape,
                                         std::size_t item_bytes) {
  constexpr std::size_t kMaxBytes = std::numeric_limits<std::int64_t>::max();
  std::size_t bytes = item_bytes;
  bool empty = false;
  for (const std::size_t extent : shape) {
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (bytes > kMaxBytes / extent) return std::nullopt;
    bytes *= extent;
  }
  return empty ? 0 : bytes / item_bytes;
}

}  // namespace bridgemark
