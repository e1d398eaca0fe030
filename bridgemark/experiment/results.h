#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/experiment/experiment.h"
#include "bridgemark/metric/record/evaluation_record.h"

namespace bridgemark {

// A complete run with its scores and all that is needed to make it again.
struct RunResult {
  std::string experiment;
  std::string run;     // its id
  std::string method;  // what tables call it
  std::string pair;
  std::string trained_on;  // a pair, where the scores are of another one
  int dim = 0;
  std::string solver;
  std::string loss;       // "kl", "mse", or empty where the solver has no choice
  std::string num_steps;  // of the solver's chain, or empty
  std::uint64_t seed = 0;
  TrainingRows rows = {};                // a training set of the pair, or endless draws of it
  std::vector<std::string> assignments;  // what the experiment set
  std::map<std::string, std::string, std::less<>> options;  // every option of the solver
  std::uint64_t evaluation_seed = 0;
  int evaluation_seeds = 1;
  int evaluation_num_steps = 16;
  std::size_t trajectories = 1000;
  std::size_t conditional_samples = kConditionalSamples;
  std::size_t particles = 0;  // asked for, for a joint KL; older records have none
  std::string version;
  std::string device;
  std::string machine;
  int threads = 0;
  double train_seconds = 0.0;  // over all parts of an interrupted training
  double evaluate_seconds = 0.0;
  std::uint64_t peak_memory_bytes = 0;
  nlohmann::json pair_identity = nlohmann::json::object();  // pair_record()
  nlohmann::json data = nlohmann::json::object();           // of RunIdentity
  nlohmann::json diagnostics = nlohmann::json::object();
  std::vector<Score> scores;    // NaN: cannot be given; infinite: the solver rules out the truth
  JointKlDetail joint_kl = {};  // older records have none

  const Score* find(std::string_view score) const;  // null where it is not there or NaN
};

// The run that a result is of, with every option set by name: its train_arguments and
// evaluate_arguments repeat the result, also where defaults have changed since.
ExperimentRun recorded_run(const RunResult& result);

// What an evaluation says of itself: scores, seeds and sizes, version, machine, seconds. Throws
// FileError that names `file`, where the record is from.
void take_record(const EvaluationRecord& record, const std::string& file, RunResult& result);

inline constexpr char kResultsCsv[] = "results.csv";
inline constexpr char kResultsJsonl[] = "results.jsonl";

// From result.json and the scores of a run folder, one for each of scored_runs(run). Throws
// FileError.
std::vector<RunResult> read_run_results(const std::string& experiment, const ExperimentRun& run,
                                        const std::filesystem::path& run_folder);

// results.csv, one line for each run and score, and results.jsonl, one for each run. A score that
// cannot be given has an empty value in results.csv, an infinite one the value inf.
void write_results(const std::vector<RunResult>& results, const std::filesystem::path& folder);

// The text of results.csv.
std::string results_csv(const std::vector<RunResult>& results);

// The text of results.jsonl: a line of result_json() for each run.
std::string results_jsonl(const std::vector<RunResult>& results);

// Reads results.jsonl back, also one with a line for each run and score (score_lines.h). Throws
// FileError with the line, and where two runs under one name are of different pairs or of different
// data. A line that repeats another, however it is spelled, is left out: runs are told apart by
// their ID and device. Lines of one run that differ are refused by the numbers of both.
std::vector<RunResult> load_results(const std::filesystem::path& path);

}  // namespace bridgemark
