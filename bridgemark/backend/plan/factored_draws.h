#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "bridgemark/backend/plan/factored_power.h"
#include "bridgemark/backend/plan/scaled_rows.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/math/philox.h"

namespace bridgemark::backend {

// Draws of s with weight Q[x, s] to[row, s] where Q has factors instead of a table. The weight is a
// sum over the ways from x: to stay, or to move by one of the factors. So one draw picks the way
// and another where it leads. Of one factor the sums over s are prepared, and a draw takes O(log
// S); else O(r + S).
class FactoredDraws {
 public:
  FactoredDraws(const Context& context, std::shared_ptr<const FactoredPower> q,
                const ScaledRows& to);

  const FactoredPower& q() const { return *q_; }

  // Takes two draws. `scratch` [S + r + 1] may hold anything.
  std::size_t draw(std::size_t x, const ScaledRows& to, std::size_t row, DrawSequence& draws,
                   std::vector<double>& scratch) const;

 private:
  std::shared_ptr<const FactoredPower> q_;
  Matrix<double> log_mass_;  // [rows, r], of the ways' ends: log sum_s R[j, s] to[row, s]
  Matrix<double> sums_;      // [rows, S] of one factor, else empty
};

}  // namespace bridgemark::backend
