#pragma once

#include <cstdint>
#include <filesystem>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"

namespace bridgemark {

// Writes a coupling's answers to the test set of a pair into a folder that is there, as
// load_predictions() reads them: the draws that evaluate() makes in its first repetition with the
// seed, and log-marginals and log-probabilities where the coupling has them. States are stored in
// the smallest dtype that holds them.
void write_answers(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
                   std::uint64_t seed, const std::filesystem::path& folder);

}  // namespace bridgemark
