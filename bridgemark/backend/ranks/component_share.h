#pragma once

#include <cstddef>

#include "bridgemark/core/context.h"

// How ranks divide the components of a potential among them: in ranges, one behind the other.
namespace bridgemark::backend {

struct ComponentShare {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Ranges begin at multiples of this, the blocks of the loss: so a component meets the same
// operations whatever the number of ranks.
inline constexpr std::size_t kShareGrain = 128;

// Whole blocks, as even as they can be.
ComponentShare component_share(std::size_t components, int rank, int ranks);

// That of this process. Throws InvalidArgument where there are more ranks than blocks.
ComponentShare component_share(const Context& context, std::size_t components);

}  // namespace bridgemark::backend
