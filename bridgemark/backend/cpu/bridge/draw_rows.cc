#include <algorithm>
#include <vector>

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

// First the states of the nodes, then the coordinates, each with a draw of its own.
void draw_tree_rows(const Context& context, const TreeRows& tree, const DrawKey& key,
                    std::uint64_t first_index, MutableStatesView out) {
  const std::size_t K = tree.root.size(), M = tree.parent.size(), D = tree.node_of.size();
  each_row(context, key, first_index, out, [&](DrawSequence& draws, std::int32_t* row) {
    std::vector<std::size_t> z(M);
    z[0] = draw_category(tree.root.data(), K, draws.uniform());
    for (std::size_t i = 1; i < M; ++i) {
      const std::size_t from = z[static_cast<std::size_t>(tree.parent[i])];
      z[i] = draw_category(tree.moves.row((i - 1) * K + from), K, draws.uniform());
    }
    const auto cumulative = [&](std::size_t d) {
      return tree.cores.row(d * K + z[static_cast<std::size_t>(tree.node_of[d])]);
    };
    draw_categories(D, tree.cores.cols(), cumulative, draws, row);
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
  if (source.tree) {
    draw_tree_rows(context, *source.tree, source.key, first_index, out);
  } else if (source.cumulative.size() > 0) {
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
