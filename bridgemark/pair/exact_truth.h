#pragma once

#include <memory>

#include "bridgemark/pair/benchmark_pair.h"

// What is asked of a pair's truth in closed form, or refused in one line where it has none.
namespace bridgemark {

// BenchmarkPair::truth. Throws InvalidArgument for a reversed pair that is too large to enumerate.
std::shared_ptr<const Coupling> exact_truth(const Context& context, const BenchmarkPair& pair);

// The bridge that trajectories of the truth are drawn from. Throws InvalidArgument for a reversed
// pair.
const CpBridge& trajectory_bridge(const BenchmarkPair& pair);

}  // namespace bridgemark
