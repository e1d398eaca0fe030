#include <algorithm>
#include <utility>

#include "bridgemark/backend/cpu/cpu_backend.h"

namespace bridgemark::backend::cpu {

namespace {

// Each row `times` times in a row.
States repeat_rows(StatesView states, std::size_t times) {
  States repeated(states.rows * times, states.cols);
  for (std::size_t i = 0; i < repeated.rows(); ++i) {
    std::copy_n(states.row(i / times), states.cols, repeated.row(i));
  }
  return repeated;
}

}  // namespace

NetworkPoints CpuBackend::draw_network_points(const Context& context, const PinnedRows& pinned,
                                              int direction, StatesView x0, StatesView x1,
                                              std::size_t points, std::uint64_t first_index) const {
  const bool forward = direction == 0;
  const int num_steps = static_cast<int>(pinned.before.size()) - 1;
  States from = repeat_rows(x0, points), to = repeat_rows(x1, points);
  const std::vector<std::int32_t> done = draw_steps(pinned, from.rows(), first_index);
  std::vector<std::int32_t> left(done.size());
  for (std::size_t b = 0; b < done.size(); ++b) left[b] = num_steps - done[b];
  // Steps are done from x0 forward and from x1 backward; times count from x0.
  States x(from.rows(), from.cols());
  draw_points(context, pinned, from, to, forward ? done : left, first_index, x);
  return {std::move(x), std::move(forward ? to : from), std::move(left)};
}

}  // namespace bridgemark::backend::cpu
