#pragma once

#include <nlohmann/json.hpp>

#include "bridgemark/metric/evaluation.h"

namespace bridgemark {

// {score name: mean, ..., "standard_errors": {name: ...}, "values": {name: [one a seed]},
// "infinite": [names], "missing": {name: reason}}. JSON has no infinity: a KL that is infinite is
// null and named in "infinite"; any other null could not be given, and "missing" says why.
nlohmann::json evaluation_json(const Evaluation& evaluation);

}  // namespace bridgemark
