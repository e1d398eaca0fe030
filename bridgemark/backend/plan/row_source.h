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

// Endless rows of one end, described for a device that draws them itself. Row i is a function of
// the keys and i: it starts as independent coordinates, those of a component where there are
// several, or as one of the observed rows; with a step, what counts is a draw of it from there.
struct RowSource {
  Matrix<double> cumulative;       // [M*D,S], sums of each coordinate's probabilities; or
  std::vector<double> components;  // [M], sums of the components' probabilities; empty: one
  States observed;                 // [n,D]
  DrawKey key;
  std::shared_ptr<const BridgeStep> step;
  DrawKey step_key;

  std::size_t dim() const {
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

// The draws of the CPU, in host memory; a device's trainer makes the same ones for itself. Each has
// out rows first_index.. of its key.

// Independent coordinates as a RowSource has them; observed rows alike.
void draw_independent_rows(const Context& context, MatrixView<const double> cumulative,
                           std::span<const double> components, const DrawKey& key,
                           std::uint64_t first_index, MutableStatesView out);
void draw_observed_rows(const Context& context, StatesView observed, const DrawKey& key,
                        std::uint64_t first_index, MutableStatesView out);

void draw_rows(const Context& context, const RowSource& source, std::uint64_t first_index,
               MutableStatesView out);

// The steps that rows stand at, n in 0..num_steps-1.
std::vector<std::int32_t> draw_steps(const PinnedRows& pinned, std::size_t rows,
                                     std::uint64_t first_index);

// out[b] ~ q_ref(x_n | x0[b], x1[b]) at n = times[b] in 0..num_steps.
void draw_points(const Context& context, const PinnedRows& pinned, StatesView x0, StatesView x1,
                 std::span<const std::int32_t> times, std::uint64_t first_index,
                 MutableStatesView out);

// Brings the rows of x1 into the order of the pairs with x0, both rows first_index.. of their
// sources, in groups of kCoupledRows from the first on.
void couple_rows(const Context& context, const RowCoupling& coupling, StatesView x0,
                 std::uint64_t first_index, MutableStatesView x1);

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

// For a device other than the CPU.
std::unique_ptr<RowSampler> make_row_sampler(const Context& context, const RowSource& source);

}  // namespace bridgemark::backend
