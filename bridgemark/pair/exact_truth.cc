#include "bridgemark/pair/exact_truth.h"

#include "bridgemark/bridge/enumerated_coupling.h"
#include "bridgemark/core/error.h"

namespace bridgemark {

std::shared_ptr<const Coupling> exact_truth(const Context& context, const BenchmarkPair& pair) {
  std::shared_ptr<const Coupling> truth = pair.truth(context);
  if (!truth) {
    throw_invalid(
        "pair", "the conditional of a reversed pair needs at most {} states, got {}^{} in '{}'",
        EnumeratedCoupling::kMaxStates, pair.num_categories(), pair.dim(), pair.identity().name);
  }
  return truth;
}

const CpBridge& trajectory_bridge(const BenchmarkPair& pair) {
  if (pair.reverse()) {
    throw_invalid("pair", "trajectories of a reversed pair have no closed form, got pair '{}'",
                  pair.identity().name);
  }
  return pair.bridge();
}

}  // namespace bridgemark
