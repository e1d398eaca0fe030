#pragma once

#include <filesystem>
#include <memory>

#include "bridgemark/bridge/chain_bridge.h"

namespace bridgemark {

// The parameters of a chain bridge as safetensors: log_start [K], log_moves [D-1,K,K], log_cores
// [D,S,K].
void save_chain_model(const ChainBridge& bridge, const std::filesystem::path& path);

// Throws FileError where the file does not fit the process and the dimension.
std::shared_ptr<const Bridge> load_chain_model(const ReferenceProcess& process, std::size_t dim,
                                               const std::filesystem::path& path);

}  // namespace bridgemark
