#include "bridgemark/solver/core/pinned_draws.h"

#include <utility>

#include "bridgemark/core/parallel.h"
#include "bridgemark/math/categorical.h"

namespace bridgemark {

PinnedDraws::PinnedDraws(const Context& context, const ReferenceChain& chain, std::uint64_t seed,
                         StepDraws steps)
    : seed_(seed), steps_(std::move(steps)) {
  for (int time = 0; time <= chain.num_steps(); ++time) {
    at_.push_back(PinnedReference::marginal(context, chain, time));
  }
}

std::vector<std::int32_t> PinnedDraws::steps_done(std::size_t rows,
                                                  std::uint64_t first_index) const {
  std::vector<std::int32_t> steps(rows);
  const double* cumulative = steps_.cumulative.empty() ? nullptr : steps_.cumulative.data();
  const int num_steps = static_cast<int>(at_.size()) - 1;
  for (std::size_t b = 0; b < rows; ++b) {
    DrawSequence draws({seed_, DrawPurpose::kMatchingTime}, first_index + b);
    steps[b] = draw_time(cumulative, num_steps, draws.uniform());
  }
  return steps;
}

States PinnedDraws::states(const Context& context, StatesView x0, StatesView x1,
                           std::span<const std::int32_t> times, std::uint64_t first_index) const {
  States x(x0.rows, x0.cols);
  const Context one_thread{.num_threads = 1};
  parallel_blocks(context, x0.rows, 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      at_[static_cast<std::size_t>(times[b])].sample(one_thread, x0.slice(b, 1), x1.slice(b, 1),
                                                     {seed_, DrawPurpose::kPinned}, first_index + b,
                                                     x.view().slice(b, 1));
    }
  });
  return x;
}

}  // namespace bridgemark
