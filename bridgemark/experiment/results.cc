#include "bridgemark/experiment/results.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/csv_field.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/json_lines.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/metric/record/evaluation_json.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/solver/core/run_files.h"
#include "bridgemark/solver/core/run_result.h"

namespace bridgemark {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxResultBytes = std::size_t{1} << 30;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Of a score that is an upper bound.
constexpr char kBound[] = "bound", kBoundChange[] = "half_particles_change";

constexpr char kDetail[] = "detail";  // of the joint KL: joint_kl_json()

// A number, null for NaN, "inf" for what JSON has no number for.
json number_json(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return "inf";
  return value;
}

double number_of(const json& value, const std::string& where) {
  if (value.is_null()) return kMissing;
  if (value.is_string() && value == "inf") return kInfinity;
  if (!value.is_number()) throw_file(where, "a score must be a number, null or \"inf\"");
  return value.get<double>();
}

double number_from(const json& object, const char* key, const std::string& where) {
  if (!object.contains(key)) throw_file(where, "key '{}' is missing", key);
  return number_of(object[key], where);
}

// The scores of evaluate --json, in the order of the protocol's names.
std::vector<Score> scores_of(const json& evaluation, const std::string& file) {
  const auto part = [&](const char* key, json::value_t type) -> const json& {
    return json_part(evaluation, key, type, file);
  };
  std::vector<Score> scores;
  const json& infinite = part("infinite", json::value_t::array);
  const json& errors = part("standard_errors", json::value_t::object);
  const json& missing = part("missing", json::value_t::object);
  const json& all_values = part("values", json::value_t::object);
  const json none = json::object();
  const json& blocks = evaluation.contains("blocks") ? part("blocks", json::value_t::object) : none;
  for (const auto& [name, values] : all_values.items()) {
    Score score{name,
                number_from(evaluation, name.c_str(), file),
                number_from(errors, name.c_str(), file),
                {},
                json_get_or<std::string>(missing, name, "", file),
                blocks_from_json(blocks, name, file),
                {}};
    if (name == kJointKl) {
      score.bound_change = bound_change_from_json(evaluation, kJointKlBound, kJointKlChange, file);
    }
    const bool is_infinite = std::find(infinite.begin(), infinite.end(), name) != infinite.end();
    if (is_infinite) score.mean = kInfinity;
    for (const json& value : values) {
      score.values.push_back(is_infinite && value.is_null() ? kInfinity : number_of(value, file));
    }
    scores.push_back(std::move(score));
  }
  return scores;
}

std::string value_or_empty(const std::map<std::string, std::string, std::less<>>& options,
                           std::string_view key) {
  const auto found = options.find(key);
  return found == options.end() ? std::string() : found->second;
}

json line_json(const RunResult& result, const Score& score) {
  json values = json::array();
  for (const double value : score.values) values.push_back(number_json(value));
  json line = run_fields(result);
  line.update({{"experiment", result.experiment},
               {"score", score.name},
               {"value", number_json(score.mean)},
               {"standard_error", number_json(score.standard_error)},
               {"values", values},
               {"evaluation_seed", result.evaluation_seed},
               {"evaluation_seeds", result.evaluation_seeds},
               {"evaluation_num_steps", result.evaluation_num_steps},
               {"trajectories", result.trajectories},
               {"conditional_samples", result.conditional_samples},
               {"particles", result.particles},
               {"set", result.assignments},
               {"pair_identity", result.pair_identity},
               {"data", result.data}});
  if (std::isnan(score.mean)) line["missing"] = score.missing;
  if (!score.blocks.means.empty()) line["blocks"] = blocks_json(score.blocks);
  if (score.bound_change) {
    line[kBound] = kUpperBound;
    line[kBoundChange] =
        std::isfinite(*score.bound_change) ? json(*score.bound_change) : json(nullptr);
  }
  if (score.name == kJointKl && result.joint_kl.rows > 0) {
    line[kDetail] = joint_kl_json(result.joint_kl);
  }
  return line;
}

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

RunResult run_of(const json& line, const std::string& where) {
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
  result.version = text("version");
  result.device = text("device");
  result.machine = text("machine");
  result.threads = whole("threads");
  result.train_seconds = number("train_seconds");
  result.evaluate_seconds = number("evaluate_seconds");
  result.peak_memory_bytes = natural("peak_memory_bytes");
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

Score score_of(const json& line, const std::string& where) {
  Score score{json_get<std::string>(line, "score", where),
              number_from(line, "value", where),
              number_from(line, "standard_error", where),
              {},
              json_get_or<std::string>(line, "missing", "", where),
              blocks_from_json(line, "blocks", where),
              bound_change_from_json(line, kBound, kBoundChange, where)};
  const json& values = json_part(line, "values", json::value_t::array, where);
  for (std::size_t i = 0; i < values.size(); ++i)
    score.values.push_back(number_of(values[i], where));
  return score;
}

// A column of a table is of one pair, and a file of states is one set of data, whatever the runs.
void refuse_mixture(const std::vector<RunResult>& results, const std::string& file) {
  std::map<std::string, const RunResult*> of_pair;
  std::map<std::string, std::pair<const RunResult*, json>> of_data;
  for (const RunResult& result : results) {
    const RunResult& first = *of_pair.emplace(result.pair, &result).first->second;
    if (!same_pair(first.pair_identity, result.pair_identity)) {
      throw_file(file, "runs '{}' and '{}' are of two pairs under one name: {} and {}",
                 printable(first.run), printable(result.run), pair_text(first.pair_identity),
                 pair_text(result.pair_identity));
    }
    for (const auto& [option, fingerprint] : result.data.items()) {
      const std::string name = value_or_empty(result.options, option);
      const auto& [other, before] =
          of_data.emplace(name, std::pair(&result, fingerprint)).first->second;
      if (before != fingerprint) {
        throw_file(file, "runs '{}' and '{}' had different data in {}: fingerprints {} and {}",
                   printable(other->run), printable(result.run), printable(name),
                   printable(before.dump(-1, ' ', true)),
                   printable(fingerprint.dump(-1, ' ', true)));
      }
    }
  }
}

std::string csv_line(const RunResult& result, const Score& score) {
  std::string options;
  for (const auto& [key, value] : result.options) {
    options += fmt::format("{}{}={}", options.empty() ? "" : " ", key, value);
  }
  return fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
      csv_field(result.experiment), csv_field(result.run), csv_field(result.method),
      csv_field(result.pair), result.dim, csv_field(result.solver), csv_field(result.loss),
      csv_field(result.num_steps), result.seed, csv_field(score.name), csv_number(score.mean),
      csv_number(score.standard_error), result.evaluation_seed, result.evaluation_seeds,
      result.evaluation_num_steps, result.trajectories, result.conditional_samples,
      csv_field(result.version), csv_field(result.device), csv_field(result.machine),
      result.threads, result.train_seconds, result.evaluate_seconds, result.peak_memory_bytes,
      csv_field(options), result.rows.samples, result.rows.training_set);
}

RunResult read_run_result(const std::string& experiment, const ExperimentRun& run,
                          const std::filesystem::path& run_folder) {
  const json trained = load_run_result(run_folder);
  const bool other_pair = !run.scored_pair.empty();
  const std::filesystem::path scores_path =
      run_folder / (other_pair ? kRunReverseScores : kRunScores);
  const json scores = load_json(scores_path);
  RunResult result;
  result.experiment = experiment;
  result.run = run.id;
  result.method = run.method;
  result.pair = other_pair ? run.scored_pair : run.config.pair;
  if (other_pair) result.trained_on = run.config.pair;
  result.dim = run.dim;
  result.solver = run.config.solver;
  result.loss = value_or_empty(run.config.options, "loss");
  result.num_steps = value_or_empty(run.config.options, "num_steps");
  result.seed = run.config.seed;
  result.rows = run.config.rows;
  result.assignments = run.assignments;
  result.options = run.config.options;
  const std::string scored = scores_path.string();
  const std::string result_file = (run_folder / kRunResult).string();
  result.evaluation_seed = json_get<std::uint64_t>(scores, "seed", scored);
  result.evaluation_seeds = json_get<int>(scores, "num_seeds", scored);
  result.evaluation_num_steps = json_get<int>(scores, "num_steps", scored);
  result.trajectories = json_get<std::uint64_t>(scores, "num_trajectories", scored);
  result.conditional_samples = json_get<std::uint64_t>(scores, "conditional_samples", scored);
  result.particles = json_get_or<std::uint64_t>(scores, "particles", 0, scored);
  result.evaluate_seconds = json_get<double>(scores, "wall_seconds", scored);
  result.scores = scores_of(scores, scored);
  result.joint_kl = joint_kl_from_json(scores, scored);
  result.version = json_get<std::string>(trained, "version", result_file);
  result.device = json_get<std::string>(trained, "device", result_file);
  result.machine = json_get<std::string>(trained, "machine", result_file);
  result.threads = json_get<int>(trained, "threads", result_file);
  result.diagnostics = trained.at("diagnostics");
  result.train_seconds = training_seconds(trained, result_file);
  result.peak_memory_bytes =
      std::max(json_get<std::uint64_t>(trained, "peak_memory_bytes", result_file),
               json_get<std::uint64_t>(scores, "peak_memory_bytes", scored));
  result.pair_identity = other_pair
                             ? json_part(scores, "pair_identity", json::value_t::object, scored)
                             : trained.at("pair");
  if (trained.contains("data")) {
    result.data = json_part(trained, "data", json::value_t::object, result_file);
  }
  if (scores.contains("pair_identity") &&
      !same_pair(scores["pair_identity"], result.pair_identity)) {
    throw_file(scored, "has scores of pair {}, but the run is of {}",
               pair_text(scores["pair_identity"]), pair_text(result.pair_identity));
  }
  return result;
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

ExperimentRun recorded_run(const RunResult& result) {
  ExperimentRun run;
  run.id = result.run;
  run.method = result.method;
  run.config = {result.solver, result.pair, result.seed, result.options, result.rows};
  if (!result.trained_on.empty()) {
    run.config.pair = result.trained_on;
    run.scored_pair = result.pair;
  }
  for (const auto& [key, value] : result.options) {
    if (!value.empty()) run.assignments.push_back(key + "=" + value);
  }
  run.evaluation = {.seed = result.evaluation_seed,
                    .num_seeds = result.evaluation_seeds,
                    .num_steps = result.evaluation_num_steps,
                    .num_trajectories = result.trajectories,
                    .conditional_samples = result.conditional_samples,
                    .c2st = result.find(kC2stAuc) != nullptr || result.find(kC2stScore),
                    .particles = result.particles};
  run.dim = result.dim;
  return run;
}

const Score* RunResult::find(std::string_view name) const {
  for (const Score& score : scores) {
    if (score.name == name) return std::isnan(score.mean) ? nullptr : &score;
  }
  return nullptr;
}

void take_record(const EvaluationRecord& record, RunResult& result) {
  const nlohmann::json& json = record.json;
  json.at("seed").get_to(result.evaluation_seed);
  json.at("num_seeds").get_to(result.evaluation_seeds);
  json.at("num_steps").get_to(result.evaluation_num_steps);
  json.at("num_trajectories").get_to(result.trajectories);
  json.at("conditional_samples").get_to(result.conditional_samples);
  json.at("particles").get_to(result.particles);
  json.at("version").get_to(result.version);
  json.at("device").get_to(result.device);
  json.at("machine").get_to(result.machine);
  json.at("wall_seconds").get_to(result.evaluate_seconds);
  json.at("peak_memory_bytes").get_to(result.peak_memory_bytes);
  result.scores = record.evaluation.scores;
  result.joint_kl = record.evaluation.joint_kl;
}

std::vector<RunResult> read_run_results(const std::string& experiment, const ExperimentRun& run,
                                        const std::filesystem::path& run_folder) {
  std::vector<RunResult> results;
  for (const ExperimentRun& scored : scored_runs(run)) {
    results.push_back(read_run_result(experiment, scored, run_folder));
  }
  return results;
}

void write_results(const std::vector<RunResult>& results, const std::filesystem::path& folder) {
  std::string csv =
      "experiment,run,method,pair,dim,solver,loss,num_steps,seed,score,value,standard_error,"
      "evaluation_seed,evaluation_seeds,evaluation_num_steps,trajectories,conditional_samples,"
      "version,device,machine,threads,train_seconds,evaluate_seconds,peak_memory_bytes,options,"
      "samples,training_set\n";
  std::string jsonl;
  for (const RunResult& result : results) {
    for (const Score& score : result.scores) {
      csv += csv_line(result, score);
      jsonl += line_json(result, score).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    }
  }
  write_file_atomically(folder / kResultsCsv, csv);
  write_file_atomically(folder / kResultsJsonl, jsonl);
}

std::vector<RunResult> load_results(const std::filesystem::path& path) {
  std::vector<RunResult> results;
  const auto read = [&](const json& line, std::string_view, const std::string& where) {
    RunResult result = run_of(line, where);
    if (results.empty() || results.back().run != result.run ||
        results.back().experiment != result.experiment) {
      results.push_back(std::move(result));
    }
    results.back().scores.push_back(score_of(line, where));
    if (line.contains(kDetail)) {
      const json& detail = json_part(line, kDetail, json::value_t::object, where);
      results.back().joint_kl = joint_kl_from_json(detail, where);
    }
  };
  each_json_line(path, kMaxResultBytes, LastLine::kIsWhole, read);
  refuse_mixture(results, path.string());
  return results;
}

}  // namespace bridgemark
