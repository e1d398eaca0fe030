#include "bridgemark/backend/plan/row_source.h"

#include "bridgemark/math/categorical.h"

namespace bridgemark::backend {

std::vector<std::int32_t> draw_steps(const PinnedRows& pinned, std::size_t rows,
                                     std::uint64_t first_index) {
  const double* cumulative = pinned.steps.empty() ? nullptr : pinned.steps.data();
  const int num_steps = static_cast<int>(pinned.before.size()) - 1;
  std::vector<std::int32_t> steps(rows);
  for (std::size_t b = 0; b < rows; ++b) {
    DrawSequence draws(pinned.time_key, first_index + b);
    steps[b] = draw_time(cumulative, num_steps, draws.uniform());
  }
  return steps;
}

}  // namespace bridgemark::backend
