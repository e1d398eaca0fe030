#include "bridgemark/process/pinned_steps.h"

#include <cmath>
#include <utility>

#include "bridgemark/core/parallel.h"
#include "bridgemark/process/chain_tables.h"

namespace bridgemark {

backend::PinnedSteps make_pinned_steps(const Context& context, backend::ChainTables<float> tables) {
  constexpr std::size_t kMaxEntries = std::size_t{1} << 25;  // 128 MiB
  backend::PinnedSteps pinned;
  pinned.chain = std::move(tables);
  pinned.log_powers.assign(pinned.chain.log.begin(), pinned.chain.log.end());
  const std::size_t S = pinned.chain.num_categories;
  const auto steps = static_cast<std::size_t>(pinned.chain.num_steps);
  if (S * S * S > kMaxEntries / steps) return pinned;
  pinned.probabilities.resize(steps * S * S * S);
  parallel_blocks(context, steps * S, 1, [&](std::size_t i, std::size_t) {
    float* out = pinned.probabilities.data() + i * S * S;
    const int steps_left = static_cast<int>(i / S) + 1;
    const std::size_t x = i % S;
    for (std::size_t clean = 0; clean < S; ++clean) {
      const PinnedStep<double> step = pinned.chain.log_pinned(steps_left, x, clean);
      for (std::size_t s = 0; s < S; ++s) {
        *out++ = static_cast<float>(std::exp(step.log_probability(s)));
      }
    }
  });
  return pinned;
}

backend::PinnedSteps make_pinned_steps(const Context& context, const ReferenceChain& chain) {
  return make_pinned_steps(context, make_chain_tables<float>(context, chain));
}

TwoWaySteps make_two_way_steps(const Context& context, const ReferenceProcess& process,
                               int num_steps) {
  const auto make = [&](const ReferenceProcess& direction) {
    return std::make_shared<const backend::PinnedSteps>(
        make_pinned_steps(context, ReferenceChain(direction, num_steps)));
  };
  const auto forward = make(process);
  const bool symmetric = process.is_symmetric();
  return {forward, symmetric ? forward : make(process.time_reversed())};
}

}  // namespace bridgemark
