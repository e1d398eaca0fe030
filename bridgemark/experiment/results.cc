#include "bridgemark/experiment/results.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/csv_field.h"
#include "bridgemark/io/atomic_file.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/solver/core/run_files.h"
#include "bridgemark/solver/core/run_result.h"

namespace bridgemark {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxResultBytes = std::size_t{1} << 30;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A number, null for NaN, "inf" for what JSON has no number for.
json number_json(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return "inf";
  return value;
}

double number_from(const json& value) {
  if (value.is_null()) return kMissing;
  if (value.is_string() && value == "inf") return kInfinity;
  return value.get<double>();
}

// The scores of evaluate --json, in the order of the protocol's names.
std::vector<Score> scores_of(const json& evaluation) {
  std::vector<Score> scores;
  const json& infinite = evaluation.at("infinite");
  for (const auto& [name, values] : evaluation.at("values").items()) {
    Score score{name,
                number_from(evaluation.at(name)),
                number_from(evaluation.at("standard_errors").at(name)),
                {}};
    const bool is_infinite = std::find(infinite.begin(), infinite.end(), name) != infinite.end();
    if (is_infinite) score.mean = kInfinity;
    for (const json& value : values) {
      score.values.push_back(is_infinite && value.is_null() ? kInfinity : number_from(value));
    }
    if (const json& missing = evaluation.at("missing"); missing.contains(name)) {
      missing.at(name).get_to(score.missing);
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
               {"set", result.assignments},
               {"pair_identity", result.pair_identity},
               {"data", result.data}});
  if (std::isnan(score.mean)) line["missing"] = score.missing;
  return line;
}

RunResult run_of(const json& line) {
  RunResult result;
  line.at("experiment").get_to(result.experiment);
  line.at("run").get_to(result.run);
  line.at("method").get_to(result.method);
  line.at("pair").get_to(result.pair);
  line.at("dim").get_to(result.dim);
  line.at("solver").get_to(result.solver);
  line.at("loss").get_to(result.loss);
  line.at("num_steps").get_to(result.num_steps);
  line.at("seed").get_to(result.seed);
  line.at("evaluation_seed").get_to(result.evaluation_seed);
  line.at("evaluation_seeds").get_to(result.evaluation_seeds);
  line.at("evaluation_num_steps").get_to(result.evaluation_num_steps);
  line.at("trajectories").get_to(result.trajectories);
  result.conditional_samples = line.value("conditional_samples", kConditionalSamples);
  line.at("version").get_to(result.version);
  line.at("device").get_to(result.device);
  line.at("machine").get_to(result.machine);
  line.at("threads").get_to(result.threads);
  line.at("train_seconds").get_to(result.train_seconds);
  line.at("evaluate_seconds").get_to(result.evaluate_seconds);
  line.at("peak_memory_bytes").get_to(result.peak_memory_bytes);
  line.at("set").get_to(result.assignments);
  for (const auto& [key, value] : line.at("options").items()) {
    result.options[key] = value.get<std::string>();
  }
  result.pair_identity = line.at("pair_identity");
  result.data = line.value("data", json::object());
  result.diagnostics = line.at("diagnostics");
  return result;
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
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                     csv_field(result.experiment), csv_field(result.run), csv_field(result.method),
                     csv_field(result.pair), result.dim, result.solver, result.loss,
                     result.num_steps, result.seed, score.name, csv_number(score.mean),
                     csv_number(score.standard_error), result.evaluation_seed,
                     result.evaluation_seeds, result.evaluation_num_steps, result.trajectories,
                     result.conditional_samples, result.version, result.device,
                     csv_field(result.machine), result.threads, result.train_seconds,
                     result.evaluate_seconds, result.peak_memory_bytes, csv_field(options));
}

}  // namespace

json run_fields(const RunResult& result) {
  return {{"run", result.run},
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
}

ExperimentRun recorded_run(const RunResult& result) {
  ExperimentRun run;
  run.id = result.run;
  run.method = result.method;
  run.config = {result.solver, result.pair, result.seed, result.options};
  for (const auto& [key, value] : result.options) {
    if (!value.empty()) run.assignments.push_back(key + "=" + value);
  }
  run.evaluation = {.seed = result.evaluation_seed,
                    .num_seeds = result.evaluation_seeds,
                    .num_steps = result.evaluation_num_steps,
                    .num_trajectories = result.trajectories,
                    .conditional_samples = result.conditional_samples,
                    .c2st = result.find("c2st_auc") != nullptr || result.find("c2st_score")};
  run.dim = result.dim;
  return run;
}

const Score* RunResult::find(std::string_view name) const {
  for (const Score& score : scores) {
    if (score.name == name) return std::isnan(score.mean) ? nullptr : &score;
  }
  return nullptr;
}

RunResult read_run_result(const std::string& experiment, const ExperimentRun& run,
                          const std::filesystem::path& run_folder) {
  const json trained = load_run_result(run_folder);
  const std::filesystem::path scores_path = run_folder / kRunScores;
  const json scores = load_json(scores_path);
  RunResult result;
  result.experiment = experiment;
  result.run = run.id;
  result.method = run.method;
  result.pair = run.config.pair;
  result.dim = run.dim;
  result.solver = run.config.solver;
  result.loss = value_or_empty(run.config.options, "loss");
  result.num_steps = value_or_empty(run.config.options, "num_steps");
  result.seed = run.config.seed;
  result.assignments = run.assignments;
  result.options = run.config.options;
  try {
    scores.at("seed").get_to(result.evaluation_seed);
    scores.at("num_seeds").get_to(result.evaluation_seeds);
    scores.at("num_steps").get_to(result.evaluation_num_steps);
    scores.at("num_trajectories").get_to(result.trajectories);
    scores.at("conditional_samples").get_to(result.conditional_samples);
    scores.at("wall_seconds").get_to(result.evaluate_seconds);
    result.scores = scores_of(scores);
    trained.at("version").get_to(result.version);
    trained.at("device").get_to(result.device);
    trained.at("machine").get_to(result.machine);
    trained.at("threads").get_to(result.threads);
    result.train_seconds = trained.at("diagnostics")
                               .value("training_seconds", trained.at("wall_seconds").get<double>());
    result.peak_memory_bytes = std::max(trained.at("peak_memory_bytes").get<std::uint64_t>(),
                                        scores.at("peak_memory_bytes").get<std::uint64_t>());
    result.pair_identity = trained.at("pair");
    result.data = trained.value("data", json::object());
    result.diagnostics = trained.at("diagnostics");
    if (const json scored = scores.value("pair_identity", json());
        scored.is_object() && !same_pair(scored, result.pair_identity)) {
      throw_file(scores_path.string(), "has scores of pair {}, but the run is of {}",
                 pair_text(scored), pair_text(result.pair_identity));
    }
  } catch (const json::exception& error) {
    throw_file(scores_path.string(), "is not what evaluate --json prints: {}",
               json_error_text(error));
  }
  return result;
}

void write_results(const std::vector<RunResult>& results, const std::filesystem::path& folder) {
  std::string csv =
      "experiment,run,method,pair,dim,solver,loss,num_steps,seed,score,value,standard_error,"
      "evaluation_seed,evaluation_seeds,evaluation_num_steps,trajectories,conditional_samples,"
      "version,device,machine,threads,train_seconds,evaluate_seconds,peak_memory_bytes,options\n";
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
  const std::string text = read_file(path, kMaxResultBytes);
  std::vector<RunResult> results;
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line(text.data() + start, end - start);
    start = end + 1;
    ++number;
    if (line.empty()) continue;
    try {
      const json entry = json::parse(line);
      RunResult result = run_of(entry);
      if (results.empty() || results.back().run != result.run ||
          results.back().experiment != result.experiment) {
        results.push_back(std::move(result));
      }
      Score score{entry.at("score").get<std::string>(),
                  number_from(entry.at("value")),
                  number_from(entry.at("standard_error")),
                  {},
                  entry.value("missing", std::string())};
      for (const json& value : entry.at("values")) score.values.push_back(number_from(value));
      results.back().scores.push_back(std::move(score));
    } catch (const json::exception& error) {
      throw_file(path.string(), "line {}: is not what run writes: {}", number,
                 json_error_text(error));
    }
  }
  refuse_mixture(results, path.string());
  return results;
}

}  // namespace bridgemark
