#include <algorithm>
#include <nlohmann/json.hpp>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/result_json.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/io/json.h"
#include "bridgemark/metric/record/evaluation_json.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/solver/run/run_files.h"
#include "bridgemark/solver/run/run_identity.h"
#include "bridgemark/solver/run/run_result.h"

namespace bridgemark {

namespace {

using nlohmann::json;

std::string option_or_empty(const std::map<std::string, std::string, std::less<>>& options,
                            std::string_view key) {
  const auto found = options.find(key);
  return found == options.end() ? std::string() : found->second;
}

EvaluationRecord load_record(const std::filesystem::path& path) {
  json record = load_json(path);
  Evaluation evaluation = evaluation_from_json(record, path.string());
  return {std::move(evaluation), std::move(record)};
}

RunResult read_run_result(const std::string& experiment, const ExperimentRun& run,
                          const std::filesystem::path& run_folder) {
  const json trained = load_run_result(run_folder);
  const bool other_pair = !run.scored_pair.empty();
  const std::filesystem::path scores_path =
      run_folder / (other_pair ? kRunReverseScores : kRunScores);
  const std::string scored = scores_path.string();
  const EvaluationRecord record = load_record(scores_path);
  RunResult result;
  result.experiment = experiment;
  result.run = run.id;
  result.method = run.method;
  result.pair = other_pair ? run.scored_pair : run.config.pair;
  if (other_pair) result.trained_on = run.config.pair;
  result.dim = run.dim;
  result.solver = run.config.solver;
  result.loss = option_or_empty(run.config.options, "loss");
  result.num_steps = option_or_empty(run.config.options, "num_steps");
  result.seed = run.config.seed;
  result.rows = run.config.rows;
  result.assignments = run.assignments;
  result.options = run.config.options;
  const std::string result_file = (run_folder / kRunResult).string();
  take_record(record, scored, result);
  const std::uint64_t evaluation_memory = result.peak_memory_bytes;
  read_origin(trained, result_file, result);
  result.peak_memory_bytes = std::max(result.peak_memory_bytes, evaluation_memory);
  result.diagnostics = trained.at("diagnostics");
  result.train_seconds = training_seconds(trained, result_file);
  const json& scores = record.json;
  result.pair_identity = other_pair
                             ? json_part(scores, "pair_identity", json::value_t::object, scored)
                             : trained.at("pair");
  if (trained.contains("data")) {
    result.data = json_part(trained, "data", json::value_t::object, result_file);
  }
  if (scores.contains(kRunIdentityKey) && trained.contains(kRunIdentityKey) &&
      scores[kRunIdentityKey] != trained[kRunIdentityKey]) {
    throw_file(scored, "has scores of another run than {} beside it; remove it to score the run",
               kRunResult);
  }
  if (scores.contains("pair_identity") &&
      !same_pair(scores["pair_identity"], result.pair_identity)) {
    throw_file(scored, "has scores of pair {}, but the run is of {}",
               pair_text(scores["pair_identity"]), pair_text(result.pair_identity));
  }
  // A training does not know what it is scored on.
  if (scores.contains("pair_identity")) result.pair_identity = scores["pair_identity"];
  return result;
}

}  // namespace

void take_record(const EvaluationRecord& record, const std::string& file, RunResult& result) {
  const json& from = record.json;
  result.evaluation_seed = json_get<std::uint64_t>(from, "seed", file);
  result.evaluation_seeds = json_get<int>(from, "num_seeds", file);
  result.evaluation_num_steps = json_get<int>(from, "num_steps", file);
  result.trajectories = json_get<std::uint64_t>(from, "num_trajectories", file);
  result.conditional_samples = json_get<std::uint64_t>(from, "conditional_samples", file);
  result.particles = json_get_or<std::uint64_t>(from, "particles", 0, file);
  result.version = json_get<std::string>(from, "version", file);
  result.device = json_get<std::string>(from, "device", file);
  result.machine = json_get<std::string>(from, "machine", file);
  result.evaluate_seconds = json_get<double>(from, "wall_seconds", file);
  result.peak_memory_bytes = json_get<std::uint64_t>(from, "peak_memory_bytes", file);
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

}  // namespace bridgemark
