#pragma once

#include <cstddef>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// The column of each row in an assignment of least total cost, for a square matrix of finite costs:
// the Hungarian method by shortest augmenting paths, O(n^3).
std::vector<std::size_t> least_cost_assignment(const Context& context,
                                               MatrixView<const double> cost);

}  // namespace bridgemark
