#include "bridgemark/bridge/cp_bridge.h"

#include <utility>

namespace bridgemark {

CpBridge::CpBridge(ReferenceProcess process, CpPotential potential, int own_num_steps)
    : Bridge(std::move(process), own_num_steps), potential_(std::move(potential)) {
  check();
}

const Array3<double>& CpBridge::log_moves() const {
  static const Array3<double> none;
  return none;
}

CpPotential CpBridge::normalizer(const Context& context) const {
  return {potential_.log_beta(), propagated_cores(context, ReferenceChain(process(), 1), 0)};
}

}  // namespace bridgemark
