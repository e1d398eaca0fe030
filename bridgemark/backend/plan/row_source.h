#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bridgemark/backend/plan/bridge_step.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/math/philox.h"

namespace bridgemark::backend {

// The law of a hidden tree over coordinates, as sums of probabilities.
struct TreeRows {
  std::vector<std::int32_t> parent, node_of;  // as TreeShape has them
  std::vector<double> root;                   // [K]
  Matrix<double> moves;                       // [(M-1)*K,K], row z_parent of node i at i - 1
  Matrix<double> cores;                       // [D*K,S]
};

// Endless rows of one end, described for a device that draws them itself. Row i is a function of
// the keys and i: it starts as independent coordinates, those of a component where there are
// several, as one of the observed rows or as a draw of a hidden tree; with a step, what counts is a
// draw of it from there.
struct RowSource {
  Matrix<double> cumulative;       // [M*D,S], sums of each coordinate's probabilities; or
  std::vector<double> components;  // [M], sums of the components' probabilities; empty: one
  States observed;                 // [n,D]; or
  std::shared_ptr<const TreeRows> tree;
  DrawKey key;
  std::shared_ptr<const BridgeStep> step;
  DrawKey step_key;

  std::size_t dim() const {
    if (tree) return tree->node_of.size();
    if (observed.size() > 0) return observed.cols();
    return cumulative.rows() / std::max<std::size_t>(components.size(), 1);
  }
};

// q_ref(x_n | x_0, x_1) as products of rows, by n from 0.
struct PinnedRows {
  std::vector<ScaledRows> before;  // [x_0, s]
  std::vector<ScaledRows> after;   // [x_1, s]
  DrawKey time_key;                // of n
  DrawKey state_key;               // of x_n
  std::vector<double> steps;       // sums of the probabilities of n; empty: drawn evenly
};

// How rows of both ends that were drawn on their own become pairs (math/row_coupling.h).
struct RowCoupling {
  Matrix<double> log_q;  // [S,S], of the whole process; empty: they stay as they are
  DrawKey key;
};

// The steps that rows are at, n in 0..num_steps-1; row i has the draws of index first_index + i.
std::vector<std::int32_t> draw_steps(const PinnedRows& pinned, std::size_t rows,
                                     std::uint64_t first_index);

// A source kept on a device, which draws its rows for any thread and stream.
class RowSampler {
 public:
  virtual ~RowSampler() = default;

  // Rows first_index.. under these keys: where they start and, of a source with a step, where that
  // leads; either may be left out (no rows). Both may lie on the device.
  virtual void draw(const Context& context, const DrawKey& key, const DrawKey& step_key,
                    std::uint64_t first_index, MutableStatesView start,
                    MutableStatesView end) const = 0;
};

}  // namespace bridgemark::backend
