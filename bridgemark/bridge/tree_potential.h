#pragma once

#include <span>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/tree_shape.h"

namespace bridgemark {

// v(x) = sum over a state z_i of every node of root[z_0] prod_i moves_i[z_parent(i), z_i]
// prod_d r_d[x^d, z_node(d)], held as logarithms. One node is a CP potential, a path of nodes with
// a coordinate each a chain; the leaves of a quadtree are to a picture what the chain is to a line.
class TreePotential {
 public:
  // log_root [K], log_moves [M-1,K,K] with row z_parent and node i at i - 1, log_cores [D,S,K].
  // Throws InvalidArgument for sizes that do not fit, NaN or +inf, and where the potential is 0
  // everywhere.
  TreePotential(TreeShape shape, std::vector<double> log_root, Array3<double> log_moves,
                Array3<double> log_cores);

  const TreeShape& shape() const { return shape_; }
  std::size_t dim() const { return log_cores_.extent(0); }
  int num_categories() const { return static_cast<int>(log_cores_.extent(1)); }
  std::size_t num_components() const { return log_root_.size(); }
  const std::vector<double>& log_root() const { return log_root_; }
  const Array3<double>& log_moves() const { return log_moves_; }
  const Array3<double>& log_cores() const { return log_cores_; }

  // out[b] = log v(x[b]).
  void log_value(const Context& context, StatesView x, std::span<double> out) const;

 private:
  TreeShape shape_;
  std::vector<double> log_root_;
  Array3<double> log_moves_;
  Array3<double> log_cores_;
};

}  // namespace bridgemark
