#include "bridgemark/core/tree_shape.h"

#include <utility>

#include "bridgemark/core/error.h"

namespace bridgemark {

namespace {

// A block of coordinates, and the node above the one that stands for it.
struct Block {
  std::size_t row, col, rows, cols;
  std::int32_t parent;
};

// Every block is cut in half along each axis where it is longer than 1. Blocks of one level follow
// each other.
TreeShape cut_blocks(std::size_t rows, std::size_t cols) {
  std::vector<Block> blocks{{0, 0, rows, cols, -1}};
  std::vector<std::int32_t> parent, node_of(rows * cols);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block block = blocks[i];
    const auto node = static_cast<std::int32_t>(i);
    parent.push_back(block.parent);
    if (block.rows == 1 && block.cols == 1) {
      node_of[block.row * cols + block.col] = node;
      continue;
    }
    const std::size_t upper = (block.rows + 1) / 2, left = (block.cols + 1) / 2;
    for (const bool below : {false, true}) {
      for (const bool right : {false, true}) {
        const Block part{block.row + (below ? upper : 0), block.col + (right ? left : 0),
                         below ? block.rows - upper : upper, right ? block.cols - left : left,
                         node};
        if (part.rows > 0 && part.cols > 0) blocks.push_back(part);
      }
    }
  }
  return {std::move(parent), std::move(node_of)};
}

}  // namespace

TreeShape::TreeShape(std::vector<std::int32_t> parent, std::vector<std::int32_t> node_of)
    : parent_(std::move(parent)), node_of_(std::move(node_of)) {
  if (parent_.empty() || parent_[0] != -1) {
    throw_invalid("tree", "parent must begin with -1, of the root, got {}",
                  parent_.empty() ? "none" : std::to_string(parent_[0]));
  }
  for (std::size_t i = 1; i < parent_.size(); ++i) {
    if (parent_[i] < 0 || static_cast<std::size_t>(parent_[i]) >= i) {
      throw_invalid("tree", "parent must lie in 0..{} for node {}, got {}", i - 1, i, parent_[i]);
    }
  }
  if (node_of_.empty()) throw_invalid("tree", "node_of must have a coordinate, got none");
  for (std::size_t d = 0; d < node_of_.size(); ++d) {
    if (node_of_[d] < 0 || static_cast<std::size_t>(node_of_[d]) >= parent_.size()) {
      throw_invalid("tree", "node_of must lie in 0..{}, got {} at {}", parent_.size() - 1,
                    node_of_[d], d);
    }
  }
}

TreeShape TreeShape::binary(std::size_t dim) { return cut_blocks(1, dim); }

TreeShape TreeShape::quadtree(std::size_t side) { return cut_blocks(side, side); }

TreeShape TreeShape::named(std::string_view name, std::size_t dim) {
  if (name == "binary") return binary(dim);
  if (name != "quadtree") {
    throw_invalid("tree", "tree must be binary, quadtree or arrays of your own, got '{}'", name);
  }
  std::size_t side = 1;
  while (side * side < dim) ++side;
  if (side * side != dim) {
    throw_invalid("tree", "dim must be a square for tree quadtree, got {}", dim);
  }
  return quadtree(side);
}

}  // namespace bridgemark
