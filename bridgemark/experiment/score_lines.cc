#include "bridgemark/experiment/score_lines.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/result_json.h"
#include "bridgemark/io/json.h"
#include "bridgemark/metric/record/evaluation_json.h"

namespace bridgemark {

namespace {

using nlohmann::json;

// Of a score that is an upper bound.
constexpr char kBound[] = "bound", kBoundChange[] = "half_particles_change";

constexpr char kDetail[] = "detail";  // of the joint KL: joint_kl_json()

// A number, null for NaN, "inf" for what JSON has no number for.
double number_of(const json& value, const std::string& where) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (value.is_string() && value == "inf") return std::numeric_limits<double>::infinity();
  if (!value.is_number()) throw_file(where, "a score must be a number, null or \"inf\"");
  return value.get<double>();
}

double score_number_of(const json& object, const char* key, const std::string& where) {
  if (!object.contains(key)) throw_file(where, "key '{}' is missing", key);
  return number_of(object[key], where);
}

Score score_of(const json& line, const std::string& where) {
  Score score{json_get<std::string>(line, "score", where),
              score_number_of(line, "value", where),
              score_number_of(line, "standard_error", where),
              {},
              json_get_or<std::string>(line, "missing", "", where),
              blocks_from_json(line, "blocks", where),
              bound_change_from_json(line, kBound, kBoundChange, where)};
  const json& values = json_part(line, "values", json::value_t::array, where);
  for (const json& value : values) score.values.push_back(number_of(value, where));
  return score;
}

}  // namespace

std::vector<std::string> score_line_key(const json& line, const std::string& where) {
  return {json_get<std::string>(line, "run", where), json_get<std::string>(line, "device", where),
          json_get<std::string>(line, "score", where)};
}

void add_score_line(const json& line, const std::string& where, std::vector<RunResult>& results) {
  RunResult result = run_from_json(line, where);
  Score score = score_of(line, where);
  const auto is_of = [&](const RunResult& other) {
    return other.run == result.run && other.experiment == result.experiment &&
           std::ranges::find(other.scores, score.name, &Score::name) == other.scores.end();
  };
  if (results.empty() || !is_of(results.back())) results.push_back(std::move(result));
  results.back().scores.push_back(std::move(score));
  if (line.contains(kDetail)) {
    const json& detail = json_part(line, kDetail, json::value_t::object, where);
    results.back().joint_kl = joint_kl_from_json(detail, where);
  }
}

}  // namespace bridgemark
