#include "bridgemark/backend/ranks/component_share.h"

#include <algorithm>

#include "bridgemark/core/error.h"
#include "bridgemark/core/rank_group.h"

namespace bridgemark::backend {

namespace {

std::size_t blocks_of(std::size_t components) {
  return (components + kShareGrain - 1) / kShareGrain;
}

}  // namespace

ComponentShare component_share(std::size_t components, int rank, int ranks) {
  const std::size_t each = blocks_of(components) / static_cast<std::size_t>(ranks),
                    more = blocks_of(components) % static_cast<std::size_t>(ranks),
                    own = static_cast<std::size_t>(rank);
  const auto start = [&](std::size_t r) {
    return std::min(components, (r * each + std::min(r, more)) * kShareGrain);
  };
  return {start(own), start(own + 1) - start(own)};
}

ComponentShare component_share(const Context& context, std::size_t components) {
  if (!context.ranks) return {0, components};
  const int ranks = context.ranks->count();
  if (static_cast<std::size_t>(ranks) > blocks_of(components)) {
    throw_invalid("ranks", "ranks must be at most {} for {} components, one for each {}, got {}",
                  blocks_of(components), components, kShareGrain, ranks);
  }
  return component_share(components, context.ranks->rank(), ranks);
}

}  // namespace bridgemark::backend
