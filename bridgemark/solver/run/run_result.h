#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "bridgemark/solver/core/solver.h"

namespace bridgemark {

// result.json of a complete run. Throws FileError where it is not what train_run writes.
nlohmann::json load_run_result(const std::filesystem::path& folder);

// Of such a result: over all parts of an interrupted training.
double training_seconds(const nlohmann::json& run_result, std::string_view file);

}  // namespace bridgemark
