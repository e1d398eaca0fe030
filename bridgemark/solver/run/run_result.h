#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "bridgemark/core/context.h"
#include "bridgemark/solver/core/solver.h"

namespace bridgemark {

// What result.json of every training says: solver and options, what it found, on which machine and
// in how many seconds.
nlohmann::json run_result(const Context& context, std::string_view solver, std::uint64_t seed,
                          const std::map<std::string, std::string, std::less<>>& options,
                          const Diagnostics& diagnostics, double seconds);

// result.json of a complete run. Throws FileError where it is not what train_run writes.
nlohmann::json load_run_result(const std::filesystem::path& folder);

// Of such a result: over all parts of an interrupted training.
double training_seconds(const nlohmann::json& run_result, std::string_view file);

}  // namespace bridgemark
