#include <algorithm>

#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/categorical.h"

namespace bridgemark::backend::cpu {

namespace {

// fill(draws, row) for each row with the draws of its index.
template <typename Fill>
void each_row(const Context& context, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView out, Fill&& fill) {
  parallel_blocks(context, out.rows, 1024, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      DrawSequence draws(key, first_index + i);
      fill(draws, out.row(i));
    }
  });
}

}  // namespace

void CpuBackend::draw_independent_rows(const Context& context, MatrixView<const double> cumulative,
                                       std::span<const double> components, const DrawKey& key,
                                       std::uint64_t first_index, MutableStatesView out) const {
  const std::size_t S = cumulative.cols;
  each_row(context, key, first_index, out, [&](DrawSequence& draws, std::int32_t* row) {
    const std::size_t component =
        components.empty() ? 0
                           : draw_category(components.data(), components.size(), draws.uniform());
    const std::size_t first = component * out.cols;
    draw_categories(
        out.cols, S, [&](std::size_t d) { return cumulative.row(first + d); }, draws, row);
  });
}

void CpuBackend::draw_observed_rows(const Context& context, StatesView observed, const DrawKey& key,
                                    std::uint64_t first_index, MutableStatesView out) const {
  each_row(context, key, first_index, out, [&](DrawSequence& draws, std::int32_t* row) {
    const double position = draws.uniform() * static_cast<double>(observed.rows);
    const auto chosen = std::min(static_cast<std::size_t>(position), observed.rows - 1);
    std::copy_n(observed.row(chosen), out.cols, row);
  });
}

void CpuBackend::draw_rows(const Context& context, const RowSource& source,
                           std::uint64_t first_index, MutableStatesView out) const {
  if (source.cumulative.size() > 0) {
    draw_independent_rows(context, source.cumulative, source.components, source.key, first_index,
                          out);
  } else {
    draw_observed_rows(context, source.observed, source.key, first_index, out);
  }
  if (source.step == nullptr) return;
  const States from(out.rows, out.cols, {out.data, out.data + out.size()});
  sample_bridge_step(context, *source.step, from, source.step_key, first_index, out);
}

void CpuBackend::draw_points(const Context& context, const PinnedRows& pinned, StatesView x0,
                             StatesView x1, std::span<const std::int32_t> times,
                             std::uint64_t first_index, MutableStatesView out) const {
  const Context one_thread{.num_threads = 1};
  parallel_blocks(context, x0.rows, 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      const auto n = static_cast<std::size_t>(times[b]);
      sample_product_rows(one_thread, pinned.before[n], pinned.after[n], x0.slice(b, 1),
                          x1.slice(b, 1), pinned.state_key, first_index + b, out.slice(b, 1));
    }
  });
}

}  // namespace bridgemark::backend::cpu
