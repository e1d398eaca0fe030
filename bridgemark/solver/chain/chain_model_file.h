#pragma once

#include <filesystem>
#include <memory>

#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/pair/fit_problem.h"

namespace bridgemark {

// The parameters of chain bridges as safetensors: log_start [K], log_moves [D-1,K,K] and log_cores
// [D,S,K]; of tree bridges tree_parent [M], tree_node_of [D], log_root [K], log_moves [M-1,K,K] and
// log_cores; what else there is says bridge_file.h.
void save_chain_model(const Coupling& coupling, const std::filesystem::path& path);

// Throws FileError where the file does not fit the problem.
std::shared_ptr<const Coupling> load_chain_model(const Context& context, const FitProblem& problem,
                                                 const std::filesystem::path& path);

}  // namespace bridgemark
