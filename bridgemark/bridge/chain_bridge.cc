#include "bridgemark/bridge/chain_bridge.h"

#include <utility>

namespace bridgemark {

ChainBridge::ChainBridge(ReferenceProcess process, ChainPotential potential, int own_num_steps)
    : Bridge(std::move(process), own_num_steps), potential_(std::move(potential)) {
  check();
}

}  // namespace bridgemark
