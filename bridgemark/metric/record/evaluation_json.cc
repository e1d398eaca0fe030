#include "bridgemark/metric/record/evaluation_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bridgemark/core/error.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/metric/score_spec.h"

namespace bridgemark {

namespace {

// Of joint_kl_json().
constexpr char kParticlesKey[] = "joint_kl_particles", kRowsKey[] = "joint_kl_rows",
               kWorstShareKey[] = "joint_kl_worst_share", kWorstRowsKey[] = "joint_kl_worst_rows",
               kWorstValuesKey[] = "joint_kl_worst_values";

nlohmann::json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

// The caller says which number null is read as.
double number_or(const nlohmann::json& value, double null, const std::string& file) {
  if (value.is_null()) return null;
  if (!value.is_number()) throw_file(file, "a score must be a number or null");
  return value.get<double>();
}

double score_number(const nlohmann::json& object, const std::string& name, double null,
                    const std::string& file) {
  const auto found = object.find(name);
  if (found == object.end()) throw_file(file, "key '{}' is missing", printable(name));
  return number_or(*found, null, file);
}

// A bound is upper where its score says so, also where the detail behind it is not kept.
void add_bound(const Evaluation& evaluation, nlohmann::json& object) {
  const auto joint = std::ranges::find(evaluation.scores, kJointKl, &Score::name);
  if (joint == evaluation.scores.end() || !joint->bound_change) return;
  object[kJointKlBound] = kUpperBound;
  object[kJointKlChange] = number_or_null(*joint->bound_change);
}

}  // namespace

nlohmann::json evaluation_json(const Evaluation& evaluation) {
  nlohmann::json json, errors = nlohmann::json::object(), values = nlohmann::json::object(),
                       infinite = nlohmann::json::array(), missing = nlohmann::json::object(),
                       blocks = nlohmann::json::object();
  for (const Score& score : evaluation.scores) {
    json[score.name] = number_or_null(score.mean);
    if (std::isinf(score.mean)) infinite.push_back(score.name);
    if (std::isnan(score.mean)) missing[score.name] = score.missing;
    errors[score.name] = number_or_null(score.standard_error);
    if (!score.blocks.means.empty()) blocks[score.name] = blocks_json(score.blocks);
    values[score.name] = nlohmann::json::array();
    for (const double value : score.values) values[score.name].push_back(number_or_null(value));
  }
  json["standard_errors"] = errors;
  json["values"] = values;
  json["infinite"] = infinite;
  json["missing"] = missing;
  json["blocks"] = blocks;
  json.update(joint_kl_json(evaluation.joint_kl));
  add_bound(evaluation, json);
  return json;
}

Evaluation evaluation_from_json(const nlohmann::json& object, const std::string& file) {
  using nlohmann::json;
  const auto part = [&](const char* key, json::value_t type) -> const json& {
    return json_part(object, key, type, file);
  };
  const json& infinite = part("infinite", json::value_t::array);
  const json& errors = part("standard_errors", json::value_t::object);
  const json& missing = part("missing", json::value_t::object);
  const json none = json::object();
  const json& blocks = object.contains("blocks") ? part("blocks", json::value_t::object) : none;
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  Evaluation evaluation;
  for (const auto& [name, values] : part("values", json::value_t::object).items()) {
    if (!values.is_array())
      throw_file(file, "the values of '{}' must be an array", printable(name));
    const bool is_infinite = std::find(infinite.begin(), infinite.end(), name) != infinite.end();
    const double null = is_infinite ? std::numeric_limits<double>::infinity() : kMissing;
    Score score;
    score.name = name;
    score.mean = score_number(object, name, null, file);
    score.standard_error = score_number(errors, name, kMissing, file);
    for (const json& value : values) score.values.push_back(number_or(value, null, file));
    score.missing = json_get_or<std::string>(missing, name, "", file);
    score.blocks = blocks_from_json(blocks, name, file);
    if (name == kJointKl) {
      score.bound_change = bound_change_from_json(object, kJointKlBound, kJointKlChange, file);
    }
    evaluation.scores.push_back(std::move(score));
  }
  evaluation.joint_kl = joint_kl_from_json(object, file);
  return evaluation;
}

nlohmann::json joint_kl_json(const JointKlDetail& detail) {
  if (detail.rows == 0) return {{kJointKlBound, nullptr}};
  nlohmann::json worst_values = nlohmann::json::array();
  for (const double value : detail.worst_values) worst_values.push_back(number_or_null(value));
  return {{kJointKlBound, detail.particles > 0 ? kUpperBound : kExactBound},
          {kParticlesKey, detail.particles},
          {kRowsKey, detail.rows},
          {kJointKlChange, number_or_null(detail.half_particles_change)},
          {kWorstShareKey, number_or_null(detail.worst_share)},
          {kWorstRowsKey, detail.worst_rows},
          {kWorstValuesKey, worst_values}};
}

JointKlDetail joint_kl_from_json(const nlohmann::json& object, const std::string& file) {
  using nlohmann::json;
  JointKlDetail detail;
  detail.rows = json_get_or<std::uint64_t>(object, kRowsKey, 0, file);
  if (detail.rows == 0) return detail;
  detail.particles = json_get_or<std::uint64_t>(object, kParticlesKey, 0, file);
  const auto number = [&](const char* key, double& value) {
    if (object.contains(key) && !object[key].is_null()) value = json_get<double>(object, key, file);
  };
  number(kJointKlChange, detail.half_particles_change);
  number(kWorstShareKey, detail.worst_share);
  if (object.contains(kWorstRowsKey)) {
    for (const json& row : json_part(object, kWorstRowsKey, json::value_t::array, file)) {
      if (!row.is_number_unsigned() || row.get<std::uint64_t>() >= detail.rows) {
        throw_file(file, "'{}' must be rows below {}", kWorstRowsKey, detail.rows);
      }
      detail.worst_rows.push_back(row.get<std::uint64_t>());
    }
  }
  if (!object.contains(kWorstValuesKey)) return detail;
  for (const json& value : json_part(object, kWorstValuesKey, json::value_t::array, file)) {
    if (!value.is_null() && !value.is_number()) {
      throw_file(file, "'{}' must be numbers or null", kWorstValuesKey);
    }
    detail.worst_values.push_back(value.is_null() ? std::numeric_limits<double>::infinity()
                                                  : value.get<double>());
  }
  if (detail.worst_values.size() != detail.worst_rows.size()) {
    throw_file(file, "'{}' must be as many as '{}', {}, got {}", kWorstValuesKey, kWorstRowsKey,
               detail.worst_rows.size(), detail.worst_values.size());
  }
  return detail;
}

std::optional<double> bound_change_from_json(const nlohmann::json& object, const char* bound_key,
                                             const char* change_key, const std::string& file) {
  const auto bound = object.find(bound_key);
  if (bound == object.end() || bound->is_null() || *bound == kExactBound) return {};
  if (*bound != kUpperBound) {
    throw_file(file, "'{}' must be \"{}\", \"{}\" or null", bound_key, kExactBound, kUpperBound);
  }
  const auto change = object.find(change_key);
  if (change == object.end() || !change->is_number()) {
    return std::numeric_limits<double>::infinity();
  }
  return change->get<double>();
}

nlohmann::json blocks_json(const BlockMeans& blocks) {
  return {{"rows", blocks.rows}, {"means", blocks.means}};
}

BlockMeans blocks_from_json(const nlohmann::json& object, const std::string& key,
                            const std::string& file) {
  using nlohmann::json;
  if (!object.contains(key)) return {};
  const json& given = json_part(object, key, json::value_t::object, file);
  const json& means = json_part(given, "means", json::value_t::array, file);
  BlockMeans blocks;
  blocks.rows = json_get<std::uint64_t>(given, "rows", file);
  if (means.empty() || means.size() > kMeanBlocks || blocks.rows < means.size() ||
      blocks.rows > kMaxBlockRows) {
    throw_file(file,
               "'{}' must be 1..{} means of at least as many and at most {} rows, got {} of {}",
               printable(key), kMeanBlocks, kMaxBlockRows, means.size(), blocks.rows);
  }
  for (const json& mean : means) {
    if (!mean.is_number() || std::abs(mean.get<double>()) > kMaxBlockMean) {
      throw_file(file, "the means of '{}' must be numbers of at most {}", printable(key),
                 kMaxBlockMean);
    }
    blocks.means.push_back(mean.get<double>());
  }
  return blocks;
}

}  // namespace bridgemark
