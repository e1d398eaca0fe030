#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bridgemark/metric/evaluation.h"

namespace bridgemark {

// {score name: mean, ..., "standard_errors": {name: ...}, "values": {name: [one a seed]},
// "infinite": [names], "missing": {name: reason}, "blocks": {name: blocks_json()}}. JSON has no
// infinity: a KL that is infinite is null and named in "infinite"; any other null could not be
// given, and "missing" says why.
nlohmann::json evaluation_json(const Evaluation& evaluation);

// {"rows": inputs, "means": [one a block]}.
nlohmann::json blocks_json(const BlockMeans& blocks);

// Reads them from `object` under `key`; none where the key is missing, as in older records. Throws
// FileError that names `file`.
BlockMeans blocks_from_json(const nlohmann::json& object, const std::string& key,
                            const std::string& file);

}  // namespace bridgemark
