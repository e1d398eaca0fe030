#pragma once

#include <cstddef>
#include <vector>

#include "bridgemark/backend/plan/bridge_step.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/philox.h"

namespace bridgemark::backend {

// A draw of a coordinate's next state from x, with weight q[x, s] * to[row, s], by the table of the
// step's reference or by its factors. `sums` [S] is scratch.
inline std::size_t draw_next_state(const BridgeStep& step, std::size_t x, std::size_t row,
                                   DrawSequence& draws, std::vector<double>& sums) {
  if (step.factors) return step.factors->draw(x, step.to, row, draws, sums);
  const std::size_t S = step.num_categories;
  cumulate_product(step.q.linear.row(x), step.to.linear.row(row), step.q.log.row(x),
                   step.to.log.row(row), S, sums.data());
  return draw_category(sums.data(), S, draws.uniform());
}

}  // namespace bridgemark::backend
