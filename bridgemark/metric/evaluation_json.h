#pragma once

#include <nlohmann/json.hpp>

#include "bridgemark/metric/evaluation.h"

namespace bridgemark {

// {score name: mean, ..., "standard_errors": {name: ...}, "values": {name: [one a seed]}}; null for
// what could not be given.
nlohmann::json evaluation_json(const Evaluation& evaluation);

}  // namespace bridgemark
