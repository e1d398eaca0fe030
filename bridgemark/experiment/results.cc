#include "bridgemark/experiment/results.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/csv_field.h"
#include "bridgemark/experiment/result_json.h"
#include "bridgemark/experiment/score_lines.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/json_lines.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/sha256.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxResultBytes = std::size_t{1} << 30;

// A column of a table is of one pair, and a file of states is one set of data, whatever the runs.
void refuse_mixture(const std::vector<RunResult>& results, const std::string& file) {
  std::map<std::string, const RunResult*> of_pair;
  std::map<std::string, std::pair<const RunResult*, json>> of_data;
  for (const RunResult& result : results) {
    const RunResult& first = *of_pair.emplace(result.pair, &result).first->second;
    if (!same_scored_pair(first.pair_identity, result.pair_identity)) {
      throw_file(file, "runs '{}' and '{}' are of two pairs under one name: {} and {}",
                 printable(first.run), printable(result.run), pair_text(first.pair_identity),
                 pair_text(result.pair_identity));
    }
    for (const auto& [option, fingerprint] : result.data.items()) {
      const auto given = result.options.find(option);
      const std::string name = given == result.options.end() ? std::string() : given->second;
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

// What a file says of each key, a repetition being nothing new. Throws FileError where one key has
// two texts.
class SaidOnce {
 public:
  bool add(const std::vector<std::string>& key, const json& said, const std::string& where) {
    const std::string digest = base64_sha256(said.dump(-1, ' ', true));
    const auto [before, is_new] = said_.emplace(key, std::pair(where, digest));
    if (!is_new && before->second.second != digest) {
      throw_file(where, "says otherwise of run '{}' on device '{}' than {}", printable(key[0]),
                 printable(key[1]), before->second.first);
    }
    return is_new;
  }

 private:
  // Where it is, and its digest.
  std::map<std::vector<std::string>, std::pair<std::string, std::string>> said_;
};

// A run of each ID and device once, from results of lines of either kind.
std::vector<RunResult> each_run_once(std::vector<RunResult> results,
                                     const std::vector<std::string>& where) {
  SaidOnce runs;
  std::vector<RunResult> once;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::vector<std::string> key = {results[i].run, results[i].device};
    if (runs.add(key, result_json(results[i]), where[i])) once.push_back(std::move(results[i]));
  }
  return once;
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

}  // namespace

std::string results_csv(const std::vector<RunResult>& results) {
  std::string csv =
      "experiment,run,method,pair,dim,solver,loss,num_steps,seed,score,value,standard_error,"
      "evaluation_seed,evaluation_seeds,evaluation_num_steps,trajectories,conditional_samples,"
      "version,device,machine,threads,train_seconds,evaluate_seconds,peak_memory_bytes,options,"
      "samples,training_set\n";
  for (const RunResult& result : results) {
    for (const Score& score : result.scores) csv += csv_line(result, score);
  }
  return csv;
}

const Score* RunResult::find(std::string_view name) const {
  for (const Score& score : scores) {
    if (score.name == name) return std::isnan(score.mean) ? nullptr : &score;
  }
  return nullptr;
}

namespace {

// Of the options of a record, which has all of them, those that a command may ask for: the others
// have no use beside them. All of them where they are not of this version.
OptionValues options_to_ask_for(const RunResult& result) {
  const auto& solvers = all_solvers();
  const auto solver = std::ranges::find_if(
      solvers, [&](const auto& known) { return known->name() == result.solver; });
  if (solver == solvers.end()) return result.options;
  const std::vector<OptionSpec> specs = (*solver)->options();
  const RowKind rows = result.rows.samples > 0 ? RowKind::kThatEnd : RowKind::kEndless;
  try {
    OptionValues values = used_options(specs, result.options);
    for (const OptionSpec& spec : specs) {
      if (spec.rows != RowKind::kAny && spec.rows != rows) values.erase(spec.key);
    }
    return values;
  } catch (const InvalidArgument&) {
    return result.options;
  }
}

}  // namespace

ExperimentRun recorded_run(const RunResult& result) {
  ExperimentRun run;
  run.id = result.run;
  run.method = result.method;
  run.config = {result.solver, result.pair, result.seed, result.options, result.rows};
  if (!result.trained_on.empty()) {
    run.config.pair = result.trained_on;
    run.scored_pair = result.pair;
  }
  for (const auto& [key, value] : options_to_ask_for(result)) {
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

std::string results_jsonl(const std::vector<RunResult>& results) {
  std::string lines;
  for (const RunResult& result : results) {
    lines += result_json(result).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  return lines;
}

void write_results(const std::vector<RunResult>& results, const std::filesystem::path& folder) {
  write_file_atomically(folder / kResultsCsv, results_csv(results));
  write_file_atomically(folder / kResultsJsonl, results_jsonl(results));
}

std::vector<RunResult> load_results(const std::filesystem::path& path) {
  std::vector<RunResult> results;
  std::vector<std::string> where_of;  // each result begins
  SaidOnce scores;
  const auto read = [&](const json& line, std::string_view, const std::string& where) {
    if (line.contains(kScoresKey)) {
      results.push_back(result_from_json(line, where));
    } else if (scores.add(score_line_key(line, where), line, where)) {
      add_score_line(line, where, results);
    }
    if (where_of.size() < results.size()) where_of.push_back(where);
  };
  each_json_line(path, kMaxResultBytes, LastLine::kIsWhole, read);
  refuse_mixture(results, path.string());
  return each_run_once(std::move(results), where_of);
}

}  // namespace bridgemark
