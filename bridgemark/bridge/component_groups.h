#pragma once

#include <cstddef>

#include "bridgemark/bridge/reverse_tables.h"

namespace bridgemark {

// A trained model has many components that are nearly alike. Those of a group become one, their
// geometric mean with weights w_k that sum to 1,
//   sum_{k in g} beta_k u_k(x0) >= prod_{k in g} (beta_k u_k(x0) / w_k)^w_k,
// which loses little where they are alike on p0. Not more than most_groups; with as many components
// or fewer each is a group. Components that have no share on draws of p0 are left out. For a bound
// alone: the model keeps its components. Of a CP potential.
ComponentGroups group_components(const ReverseTables& tables, std::size_t most_groups);

}  // namespace bridgemark
