#include "bridgemark/core/states.h"

#include <algorithm>
#include <cstdint>

#include "bridgemark/core/error.h"

namespace bridgemark {

void check_states(std::string_view name, StatesView states, std::size_t dim, int num_categories) {
  if (states.cols != dim) {
    throw_invalid("states", "{} must have {} columns, got shape [{}, {}]", name, dim, states.rows,
                  states.cols);
  }
  if (states.on_device) return;
  // The largest first, without a way out of the loop, which a compiler turns into vectors; a
  // negative value is larger than any other when it is read without its sign.
  const auto limit = static_cast<std::uint32_t>(num_categories);
  std::uint32_t highest = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    highest = std::max(highest, static_cast<std::uint32_t>(states.data[i]));
  }
  if (highest < limit || states.size() == 0) return;
  const std::int32_t* found =
      std::find_if(states.data, states.data + states.size(),
                   [&](std::int32_t value) { return static_cast<std::uint32_t>(value) >= limit; });
  const auto i = static_cast<std::size_t>(found - states.data);
  throw_invalid("states", "{} must hold categories 0..{}, got {} at row {}, column {}", name,
                num_categories - 1, *found, i / dim, i % dim);
}

}  // namespace bridgemark
