#pragma once

#include <nlohmann/json.hpp>

namespace bridgemark::cli {

// Prints the diagnostics of a run's result, a line each, fractions to four significant digits; the
// run keeps all of them.
void say_diagnostics(const nlohmann::json& result);

}  // namespace bridgemark::cli
