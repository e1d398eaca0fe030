#include "bridgemark/bridge/chain_bridge.h"

#include <utility>

namespace bridgemark {

ChainBridge::ChainBridge(ReferenceProcess process, ChainPotential potential, int own_num_steps)
    : Bridge(std::move(process), own_num_steps), potential_(std::move(potential)) {
  check();
}

std::shared_ptr<const Bridge> ChainBridge::with_source(SourceLaw source) const {
  auto bridge = std::make_shared<ChainBridge>(*this);
  bridge->set_source(std::move(source));
  return bridge;
}

}  // namespace bridgemark
