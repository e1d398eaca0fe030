#include "bridgemark/experiment/result_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/json.h"
#include "bridgemark/metric/record/evaluation_json.h"
#include "bridgemark/pair/pair_record.h"

namespace bridgemark {

using nlohmann::json;

namespace {

// Texts by their names.
std::map<std::string, std::string, std::less<>> texts_of(const json& object,
                                                         const std::string& where) {
  if (!object.is_object()) throw_file(where, "'options' must be an object");
  std::map<std::string, std::string, std::less<>> texts;
  for (const auto& [key, value] : object.items()) {
    texts[key] = json_get<std::string>(object, key, where);
  }
  return texts;
}

}  // namespace

json run_fields(const RunResult& result) {
  json fields = {{"run", result.run},
                 {"method", result.method},
                 {"pair", result.pair},
                 {"dim", result.dim},
                 {"solver", result.solver},
                 {"loss", result.loss},
                 {"num_steps", result.num_steps},
                 {"seed", result.seed},
                 {"options", result.options},
                 {"version", result.version},
                 {"device", result.device},
                 {"machine", result.machine},
                 {"threads", result.threads},
                 {"train_seconds", result.train_seconds},
                 {"evaluate_seconds", result.evaluate_seconds},
                 {"peak_memory_bytes", result.peak_memory_bytes},
                 {"diagnostics", result.diagnostics}};
  if (!result.trained_on.empty()) fields["trained_on"] = result.trained_on;
  add_training_rows(fields, result.rows);
  return fields;
}

json result_json(const RunResult& result) {
  json line = run_fields(result);
  line.update({{"experiment", result.experiment},
               {"evaluation_seed", result.evaluation_seed},
               {"evaluation_seeds", result.evaluation_seeds},
               {"evaluation_num_steps", result.evaluation_num_steps},
               {"trajectories", result.trajectories},
               {"conditional_samples", result.conditional_samples},
               {"particles", result.particles},
               {"set", result.assignments},
               {"pair_identity", result.pair_identity},
               {"data", result.data},
               {kScoresKey, evaluation_json({0, result.scores, result.joint_kl})}});
  return line;
}

void read_origin(const json& object, const std::string& where, RunResult& result) {
  result.version = json_get<std::string>(object, "version", where);
  result.device = json_get<std::string>(object, "device", where);
  result.machine = json_get<std::string>(object, "machine", where);
  result.threads = json_get<int>(object, "threads", where);
  result.peak_memory_bytes = json_get<std::uint64_t>(object, "peak_memory_bytes", where);
}

RunResult run_from_json(const json& line, const std::string& where) {
  RunResult result;
  const auto text = [&](const char* key) { return json_get<std::string>(line, key, where); };
  const auto number = [&](const char* key) { return json_get<double>(line, key, where); };
  const auto whole = [&](const char* key) { return json_get<int>(line, key, where); };
  const auto natural = [&](const char* key) { return json_get<std::uint64_t>(line, key, where); };
  result.experiment = text("experiment");
  result.run = text("run");
  result.method = text("method");
  result.pair = text("pair");
  result.trained_on = json_get_or<std::string>(line, "trained_on", "", where);
  result.dim = whole("dim");
  result.solver = text("solver");
  result.loss = text("loss");
  result.num_steps = text("num_steps");
  result.seed = natural("seed");
  result.rows = read_training_rows(line, where);
  result.evaluation_seed = natural("evaluation_seed");
  result.evaluation_seeds = whole("evaluation_seeds");
  result.evaluation_num_steps = whole("evaluation_num_steps");
  result.trajectories = natural("trajectories");
  result.conditional_samples =
      json_get_or<std::uint64_t>(line, "conditional_samples", kConditionalSamples, where);
  result.particles = json_get_or<std::uint64_t>(line, "particles", 0, where);
  result.train_seconds = number("train_seconds");
  result.evaluate_seconds = number("evaluate_seconds");
  read_origin(line, where, result);
  for (const json& assignment : json_part(line, "set", json::value_t::array, where)) {
    if (!assignment.is_string()) throw_file(where, "'set' must hold texts");
    result.assignments.push_back(assignment.get<std::string>());
  }
  result.options = texts_of(json_part(line, "options", json::value_t::object, where), where);
  result.pair_identity = json_part(line, "pair_identity", json::value_t::object, where);
  check_pair_record(result.pair_identity, where);
  result.diagnostics = json_part(line, "diagnostics", json::value_t::object, where);
  if (line.contains("data")) result.data = json_part(line, "data", json::value_t::object, where);
  return result;
}

RunResult result_from_json(const json& line, const std::string& where) {
  RunResult result = run_from_json(line, where);
  Evaluation evaluation =
      evaluation_from_json(json_part(line, kScoresKey, json::value_t::object, where), where);
  result.scores = std::move(evaluation.scores);
  result.joint_kl = std::move(evaluation.joint_kl);
  return result;
}

}  // namespace bridgemark
