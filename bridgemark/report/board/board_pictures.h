#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bridgemark/experiment/results.h"

namespace bridgemark {

// What the pairs that look like data look like: [{pair, pictures (answer_pictures.h), methods: []}]
// of the truth of each that one of the results is on, forwards. A board has no models, so there are
// no answers of methods.
nlohmann::json board_pictures(const std::vector<RunResult>& results);

}  // namespace bridgemark
