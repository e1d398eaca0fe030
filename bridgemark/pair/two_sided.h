#pragma once

#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/bridge/tree_bridge.h"

namespace bridgemark {

// Weights of the components of f and v under which both ends of the two-sided pair in proportion to
// f(x0) q_ref(x1|x0) v(x1) have their components alike.
struct BalancedWeights {
  std::vector<double> log_source;  // [J], of f
  std::vector<double> log_target;  // [K], of v
};

// Component j of f meets component k of v with the weight prod_d <f_j^d, Q v_k^d>. In many
// dimensions these lie tens of nats apart, so that with even weights one pair of components would
// take nearly all of the coupling and leave two product distributions. Iterative scaling finds the
// weights that give each component of either side its even share; they are rounded to 2^-20, so
// that they are the same on every machine. `bridge` has v, `source` is f.
BalancedWeights balance_weights(const CpPotential& source, const CpBridge& bridge,
                                const Context& context = {});

struct BalancedTrees {
  TreePotential source, target;
};

// The same for f and v on one tree: at each node every state of either side falls equally often.
// The weights belong to the nodes; they are in the root and in the moves that lead to a node.
// `bridge` has v. Throws InvalidArgument unless both have one tree.
BalancedTrees balance_trees(const TreePotential& source, const TreeBridge& bridge,
                            const Context& context = {});

}  // namespace bridgemark
