#pragma once

#include <filesystem>
#include <memory>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/pair/benchmark_pair.h"

namespace bridgemark {

// The answers of an outside solver as a coupling: pred_x1.npy [test rows, D] for the test set and
// pred_conditional_x1.npy [conditional inputs, 1000, D] for the conditional inputs. It can only
// answer the draws of the protocol. Throws FileError that says what was expected and found.
std::unique_ptr<Coupling> load_predictions(const Context& context, const BenchmarkPair& pair,
                                           const std::filesystem::path& folder);

}  // namespace bridgemark
