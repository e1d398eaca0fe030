#include "bridgemark/bridge/tree_bridge.h"

#include <utility>

namespace bridgemark {

TreeBridge::TreeBridge(ReferenceProcess process, TreePotential potential, int own_num_steps)
    : Bridge(std::move(process), own_num_steps), potential_(std::move(potential)) {
  check();
}

TreePotential TreeBridge::normalizer(const Context& context) const {
  return {potential_.shape(), potential_.log_root(), potential_.log_moves(),
          propagated_cores(context, ReferenceChain(process(), 1), 0)};
}

std::shared_ptr<const Bridge> TreeBridge::with_source(SourceLaw source) const {
  auto bridge = std::make_shared<TreeBridge>(*this);
  bridge->set_source(std::move(source));
  return bridge;
}

}  // namespace bridgemark
