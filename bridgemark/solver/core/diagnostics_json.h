#pragma once

#include <nlohmann/json.hpp>

#include "bridgemark/solver/core/solver.h"

namespace bridgemark {

// The diagnostics of a fit as an object, and back from that of result.json, where a number that is
// not finite has become null: it is read as NaN.
nlohmann::json diagnostics_json(const Diagnostics& diagnostics);
Diagnostics read_diagnostics(const nlohmann::json& object);

}  // namespace bridgemark
