#pragma once

#include <filesystem>
#include <memory>

#include "bridgemark/bridge/cp_bridge.h"

namespace bridgemark {

// The parameters of a CP bridge as safetensors: log_beta [K], log_cores [D,S,K].
void save_cp_model(const CpPotential& potential, const std::filesystem::path& path);

// Throws FileError where the tensors do not fit the process and the dimension.
std::shared_ptr<const CpBridge> load_cp_model(const ReferenceProcess& process, std::size_t dim,
                                              const std::filesystem::path& path);

}  // namespace bridgemark
