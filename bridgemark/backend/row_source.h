#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bridgemark/backend/common/bridge_step.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/math/philox.h"

namespace bridgemark::backend {

// Endless rows of one end, described for a device that draws them itself. Row i is a function of
// the keys and i: it starts as independent coordinates or as one of the observed rows; with a step,
// what counts is a draw of it from there.
struct RowSource {
  Matrix<double> cumulative;  // [D,S], sums of each coordinate's probabilities; or
  States observed;            // [n,D]
  DrawKey key;
  std::shared_ptr<const BridgeStep> step;
  DrawKey step_key;
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

// Brings the rows of x1 into the order of the pairs with x0, both rows first_index.. of their
// sources, in groups of kCoupledRows from the first on. In host memory.
void couple_rows(const Context& context, const RowCoupling& coupling, StatesView x0,
                 std::uint64_t first_index, MutableStatesView x1);

// A source with a step, kept on a device: draws rows together with where they started from.
class PairSampler {
 public:
  virtual ~PairSampler() = default;

  // Rows first_index.. under these keys, left on the device.
  virtual void draw(const DrawKey& key, const DrawKey& step_key, std::uint64_t first_index,
                    std::size_t rows) = 0;

  // The rows of the last draw.
  virtual void fetch(MutableStatesView x0, MutableStatesView x1) const = 0;
};

namespace cuda {
std::unique_ptr<PairSampler> make_pair_sampler(const RowSource& source);
}

}  // namespace bridgemark::backend
