#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bridgemark/backend/plan/scaled_rows.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/tree_shape.h"
#include "bridgemark/math/hidden_tree.h"

namespace bridgemark::backend {

// A hidden tree with what its sums take: logarithms and scaled exponentials.
class TreeTables {
 public:
  // log_root [K], log_moves [M-1,K,K], log_emission [D,S,K].
  TreeTables(const Context& context, TreeShape shape, std::span<const double> log_root,
             const Array3<double>& log_moves, const Array3<double>& log_emission);

  HiddenTree view() const;
  std::size_t num_nodes() const { return shape_.num_nodes(); }

  // How much scratch log_all and draw_states take.
  std::size_t scratch_size() const { return (num_nodes() + 2) * root_.cols() + num_nodes(); }

  // The logarithm of the weight of all states: by products of scaled numbers, or in the log domain
  // where underflow may have taken something.
  double log_all(const std::int32_t* x, double* scratch) const;

 private:
  TreeShape shape_;
  std::size_t S_;
  ScaledRows root_;       // [1,K]
  ScaledRows moves_;      // [M-1,K*K]
  ScaledRows emission_;   // [D*S,K]
  double log_scale_ = 0;  // of root and moves
};

}  // namespace bridgemark::backend
