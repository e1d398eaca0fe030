#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/backend/plan/cp_tensors.h"

// What the loss of a tree potential (bridge/tree_potential.h) keeps: its tensors are CpTensors with
// a tree. T is float for training and double for checks.
namespace bridgemark::backend {

// What the passes up and down the tree leave of a batch, [M,B,K] each. The first two are logarithms
// whose largest of a row is 0.
template <typename T>
struct TreePassArrays {
  LargeArray<T> below;      // of the subtree of a node, its emissions included
  LargeArray<T> beside;     // of all but that, as seen from the node above
  LargeArray<T> posterior;  // of a node's state, times the row's weight in the loss
  LargeArray<T> from, to;   // from[i] moves to[i] is the posterior of (z_parent, z_i), weighed
  std::vector<std::uint8_t> exact;  // [M,B]: where that left the range of T, and `to` is 0
};

// Buffers that the loss keeps between calls.
template <typename T>
struct TreeWorkspace {
  CpWorkspace<T> cores;
  LargeArray<T> moves;                 // [M-1,K,K], scaled to a maximum of 1 in each matrix
  std::vector<double> log_moves_high;  // [M-1]
  TreePassArrays<T> passes[2];         // of x0 and x1
};

}  // namespace bridgemark::backend
