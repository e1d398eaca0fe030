#include "bridgemark/bridge/reference_bridge.h"

#include <utility>

namespace bridgemark {

CpBridge reference_bridge(ReferenceProcess process, std::size_t dim) {
  const auto S = static_cast<std::size_t>(process.num_categories());
  return {std::move(process), CpPotential({0.0}, Array3<double>(dim, S, 1, 0.0))};
}

}  // namespace bridgemark
