#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/process/pinned_reference.h"
#include "bridgemark/process/step_draws.h"

namespace bridgemark {

// The random points of bridge matching: how many steps are done, and where the pinned reference
// stands at a time. Row i of a seed is the same whatever the batches.
class PinnedDraws {
 public:
  PinnedDraws(const Context& context, const ReferenceChain& chain, std::uint64_t seed,
              StepDraws steps = {});

  // In 0..num_steps-1, one for each of the rows first_index...
  std::vector<std::int32_t> steps_done(std::size_t rows, std::uint64_t first_index) const;

  // x[b] ~ q_ref(x_{times[b]} | x0[b], x1[b]), times in 0..num_steps.
  States states(const Context& context, StatesView x0, StatesView x1,
                std::span<const std::int32_t> times, std::uint64_t first_index) const;

 private:
  std::uint64_t seed_;
  StepDraws steps_;
  std::vector<PinnedReference> at_;  // by time
};

}  // namespace bridgemark
