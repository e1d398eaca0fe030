#include "bridgemark/solver/core/reverse_coupling.h"

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/bridge/reversed_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/pair/reverse_truth.h"

namespace bridgemark {

namespace {

constexpr std::size_t kTargets = 32;  // rows of x1 that tell what a draw takes
constexpr std::size_t kProposals = 128;

void require_acceptance(const Context& context, const FitProblem& problem,
                        const ReversedBridge& reversed) {
  const States x1 = problem.sample_x1(context, kTargets, 0);
  double proposals = 0.0;
  for (const double kept : reversed.acceptance(context, x1, kProposals)) {
    proposals += 1.0 / (kept * static_cast<double>(kTargets));
  }
  if (proposals <= kMostProposalsADraw) return;
  throw_invalid("reverse",
                "at least {:g} of the proposals must be kept to turn a bridge round, got {:.2g}; "
                "train one on the reversed ends",
                1.0 / kMostProposalsADraw, 1.0 / proposals);
}

}  // namespace

ReverseTruth turn_round(const Context& context, const FitProblem& problem,
                        const std::shared_ptr<const Bridge>& bridge) {
  ReverseTruth turned(context, bridge);
  if (turned.envelope() != nullptr) {
    require_acceptance(context.on_host(), problem, *turned.envelope());
  }
  return turned;
}

std::shared_ptr<const Coupling> learned_reverse(const Context& context, const FitProblem& problem,
                                                const std::shared_ptr<const Coupling>& coupling) {
  if (auto own = coupling->reversed()) return own;
  const auto bridge = std::dynamic_pointer_cast<const Bridge>(coupling);
  if (!bridge || bridge->source() == nullptr) return nullptr;
  return turn_round(context, problem, bridge).coupling();
}

std::shared_ptr<const Coupling> reverse_coupling(const Context& context, const FitProblem& problem,
                                                 const std::shared_ptr<const Coupling>& coupling) {
  if (auto learned = learned_reverse(context, problem, coupling)) return learned;
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
