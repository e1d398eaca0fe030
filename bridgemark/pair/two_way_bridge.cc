#include "bridgemark/pair/two_way_bridge.h"

#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/reverse_truth.h"

namespace bridgemark {

namespace {

std::shared_ptr<const Coupling> answer_of(const Context& context, const char* question,
                                          const std::shared_ptr<const Bridge>& bridge,
                                          bool turned) {
  if (!bridge || (turned && bridge->source() == nullptr)) {
    throw_invalid("bridge", "{} must be answered by a bridge{}, got none", question,
                  bridge ? " with a law of where it starts" : "");
  }
  if (!turned) return bridge;
  return ReverseTruth(context, bridge).coupling();
}

}  // namespace

TwoWayBridge::TwoWayBridge(const Context& context, TwoWayParts parts)
    : parts_(std::move(parts)),
      forward_(answer_of(context, "x1 given x0",
                         parts_.turned_forward ? parts_.against : parts_.along,
                         parts_.turned_forward)),
      backward_(answer_of(context, "x0 given x1",
                          parts_.turned_backward ? parts_.along : parts_.against,
                          parts_.turned_backward)) {}

}  // namespace bridgemark
