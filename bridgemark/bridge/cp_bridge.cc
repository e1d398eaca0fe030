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

std::shared_ptr<const Bridge> CpBridge::with_source(SourceLaw source) const {
  auto bridge = std::make_shared<CpBridge>(*this);
  bridge->set_source(std::move(source));
  return bridge;
}

CpPotential CpBridge::normalizer(const Context& context) const {
  return {potential_.log_beta(), propagated_cores(context, ReferenceChain(process(), 1), 0)};
}

}  // namespace bridgemark
