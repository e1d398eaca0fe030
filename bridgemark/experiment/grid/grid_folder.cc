#include "bridgemark/experiment/grid/grid_folder.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/added_results.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/disk/temporaries.h"
#include "bridgemark/io/json.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run_files.h"
#include "bridgemark/solver/run/run_identity.h"
#include "bridgemark/solver/run/run_pair.h"

namespace bridgemark {

namespace {

bool is_scored_as(const RunResult& result, const EvaluationOptions& wanted) {
  return result.evaluation_seed == wanted.seed && result.evaluation_seeds == wanted.num_seeds &&
         result.evaluation_num_steps == wanted.num_steps &&
         result.trajectories == wanted.num_trajectories &&
         result.conditional_samples == wanted.conditional_samples &&
         result.particles == wanted.particles && (result.find(kC2stAuc) != nullptr) == wanted.c2st;
}

}  // namespace

std::string GridFolder::last_log_line(const ExperimentRun& run) const {
  std::ifstream file(log_file(run), std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto size = static_cast<std::int64_t>(file.tellg());
  file.seekg(std::max<std::int64_t>(0, size - 4096));
  std::string line, last;
  while (std::getline(file, line)) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return last;
}

void GridFolder::refuse_experiment() const {
  if (!path_exists(experiment_file())) return;
  throw_file(path_.string(), "already holds an experiment; give another folder or resume it");
}

void GridFolder::open(bool go_on) const {
  std::map<std::string, nlohmann::json> pair_records;  // by the name of the pair
  for (const ExperimentRun& run : experiment_.runs) refuse_conflict(run, go_on, pair_records);
  create_folder(path_ / "runs");
  create_folder(path_ / "logs");
}

void GridFolder::refuse_conflict(const ExperimentRun& run, bool go_on,
                                 std::map<std::string, nlohmann::json>& pair_records) const {
  const std::filesystem::path folder = run_folder(run);
  if (!path_exists(folder / kRunConfig)) return;
  if (!go_on) throw_file(folder.string(), "already holds a run; give another folder or resume it");
  const RunConfig before = load_run_config(folder);
  if (!is_same_request(before, folder, run.config, find_solver(run.config.solver).options())) {
    throw_file(folder.string(),
               "holds a run with another configuration; give the experiment another folder");
  }
  auto record = pair_records.find(run.config.pair);
  if (record == pair_records.end()) {
    record = pair_records.emplace(run.config.pair, pair_record(load_pair(run.config.pair))).first;
  }
  refuse_other_identity(run_identity(record->second, run.config), folder);
}

void GridFolder::write_experiment_file() const {
  write_file_atomically(experiment_file(), experiment_.text);
}

void GridFolder::share_experiment_file(bool may_change) const {
  if (path_exists(experiment_file())) {
    if (read_file(experiment_file(), kMaxExperimentBytes) == experiment_.text) return;
    if (!may_change) {
      throw_file(path_.string(), "holds another experiment; give another folder or resume it");
    }
  }
  write_experiment_file();
}

bool GridFolder::is_scored(const ExperimentRun& run) const {
  const std::filesystem::path folder = run_folder(run);
  if (!is_complete_run(folder) || !path_exists(folder / kRunScores)) return false;
  if (!load_json(folder / kRunScores).contains("missing")) return false;  // an older protocol
  if (run.both_directions && !path_exists(folder / kRunReverseScores)) return false;
  return std::ranges::equal(results(run), scored_runs(run),
                            [](const RunResult& result, const ExperimentRun& scored) {
                              return is_scored_as(result, scored.evaluation);
                            });
}

std::vector<RunResult> GridFolder::results(const ExperimentRun& run) const {
  return read_run_results(experiment_.name, run, run_folder(run));
}

void GridFolder::write_results(const std::map<std::string, std::vector<RunResult>>& known) const {
  std::vector<RunResult> all;
  for (const ExperimentRun& run : experiment_.runs) {
    const auto found = known.find(run.id);
    if (found == known.end() && !is_scored(run)) continue;
    const std::vector<RunResult> own = found != known.end() ? found->second : results(run);
    all.insert(all.end(), own.begin(), own.end());
  }
  for (RunResult& added : load_added_results(path_)) all.push_back(std::move(added));
  bridgemark::write_results(all, path_);
}

void GridFolder::sweep() const {
  constexpr const char* kFiles[] = {"experiment.toml", kResultsCsv, kResultsJsonl};
  sweep_temporaries(path_, kFiles);
}

}  // namespace bridgemark
