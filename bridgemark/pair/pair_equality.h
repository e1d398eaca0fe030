#pragma once

#include "bridgemark/pair/benchmark_pair.h"

namespace bridgemark {

// Whether two pairs are the same benchmark: identity, direction, reference, p0, potential and test
// set. Parameters are compared bit for bit, a matrix reference and a pmf to 1e-12, which a pair
// folder may change in their last bits.
bool equal_pairs(const Context& context, const BenchmarkPair& a, const BenchmarkPair& b);

}  // namespace bridgemark
