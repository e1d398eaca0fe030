#include "bridgemark/solver/core/diagnostics_json.h"

#include <cstdint>
#include <limits>
#include <string>
#include <variant>

namespace bridgemark {

nlohmann::json diagnostics_json(const Diagnostics& diagnostics) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& entry : diagnostics) {
    std::visit([&](const auto& value) { object[entry.first] = value; }, entry.second);
  }
  return object;
}

Diagnostics read_diagnostics(const nlohmann::json& object) {
  Diagnostics diagnostics;
  for (const auto& [key, value] : object.items()) {
    if (value.is_boolean()) {
      diagnostics[key] = value.get<bool>();
    } else if (value.is_number_integer()) {
      diagnostics[key] = value.get<std::int64_t>();
    } else if (value.is_number()) {
      diagnostics[key] = value.get<double>();
    } else if (value.is_string()) {
      diagnostics[key] = value.get<std::string>();
    } else {
      diagnostics[key] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return diagnostics;
}

}  // namespace bridgemark
