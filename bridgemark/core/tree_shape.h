#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bridgemark {

// The nodes of a tree and the coordinates that hang on them. Node 0 is the root, and every other
// node comes after its parent.
class TreeShape {
 public:
  // parent [M], parent[0] = -1; node_of [D]. Throws InvalidArgument unless 0 <= parent[i] < i for
  // every other node and node_of lies in 0..M-1.
  TreeShape(std::vector<std::int32_t> parent, std::vector<std::int32_t> node_of);

  // Halves of a line of coordinates, down to one coordinate a leaf: 2 dim - 1 nodes.
  static TreeShape binary(std::size_t dim);

  // Quarters of a square of side x side coordinates, whose rows follow each other, down to one
  // coordinate a leaf. A part that is one coordinate wide is halved.
  static TreeShape quadtree(std::size_t side);

  // "binary" or "quadtree" of dim coordinates. Throws InvalidArgument for any other name and for a
  // quadtree of no square.
  static TreeShape named(std::string_view name, std::size_t dim);

  std::size_t num_nodes() const { return parent_.size(); }
  std::size_t dim() const { return node_of_.size(); }
  const std::vector<std::int32_t>& parent() const { return parent_; }
  const std::vector<std::int32_t>& node_of() const { return node_of_; }

  bool operator==(const TreeShape&) const = default;

 private:
  std::vector<std::int32_t> parent_;
  std::vector<std::int32_t> node_of_;
};

}  // namespace bridgemark
