#include "bridgemark/metric/evaluation_json.h"

#include <cmath>

namespace bridgemark {

namespace {

nlohmann::json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

}  // namespace

nlohmann::json evaluation_json(const Evaluation& evaluation) {
  nlohmann::json json, errors, values, infinite = nlohmann::json::array(),
                                       missing = nlohmann::json::object();
  for (const Score& score : evaluation.scores) {
    json[score.name] = number_or_null(score.mean);
    if (std::isinf(score.mean)) infinite.push_back(score.name);
    if (std::isnan(score.mean)) missing[score.name] = score.missing;
    errors[score.name] = number_or_null(score.standard_error);
    values[score.name] = nlohmann::json::array();
    for (const double value : score.values) values[score.name].push_back(number_or_null(value));
  }
  json["standard_errors"] = errors;
  json["values"] = values;
  json["infinite"] = infinite;
  json["missing"] = missing;
  return json;
}

}  // namespace bridgemark
