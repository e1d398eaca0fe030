#include "bridgemark/solver/core/reverse_coupling.h"

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/pair/reverse_truth.h"

namespace bridgemark {

std::shared_ptr<const Coupling> reverse_coupling(const Context& context, const FitProblem& problem,
                                                 const std::shared_ptr<const Coupling>& coupling) {
  if (auto own = coupling->reversed()) return own;
  const auto bridge = std::dynamic_pointer_cast<const Bridge>(coupling);
  if (!bridge) throw_invalid("reverse", "this solver answers one direction alone: x1 given x0");
  if (problem.pair() && problem.pair()->reverse()) {
    throw_invalid("reverse", "the x0 of '{}' must have a law in closed form, got that of p1",
                  problem.name());
  }
  const SourceDistribution& p0 = problem.pair() ? problem.pair()->source() : problem.data()->x0;
  const ReverseTruth turned(context, bridge, p0, std::nullopt);
  if (!turned.coupling()) {
    throw_invalid("reverse", "to turn a bridge round needs {}", turned.missing());
  }
  return turned.coupling();
}

}  // namespace bridgemark
