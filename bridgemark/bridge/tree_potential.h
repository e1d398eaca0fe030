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

  // log of the sum over all states.
  double log_total() const;

 private:
  TreeShape shape_;
  std::vector<double> log_root_;
  Array3<double> log_moves_;
  Array3<double> log_cores_;
};

// a(x) b(x): the same tree, whose nodes have a state j K + k for each pair of a's j and b's k.
// Throws InvalidArgument for potentials of different spaces or trees, and where cores or moves
// would take more than kMaxProductEntries numbers.
TreePotential product(const TreePotential& a, const TreePotential& b);

// What product() asks of its factors, before anything of its size is made.
void check_product(const TreePotential& a, const TreePotential& b);

// v(x) prod_d factors[x^d].
TreePotential scaled(const TreePotential& potential, std::span<const double> log_factors);

// The same function up to a factor, as the law of a hidden tree: the root, each row of moves and
// the core of each state add up to 1, except for those that are 0 throughout, which no draw comes
// to.
TreePotential as_law(const TreePotential& potential);

}  // namespace bridgemark
