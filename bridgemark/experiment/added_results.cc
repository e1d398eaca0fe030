#include "bridgemark/experiment/added_results.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/pair/pair_record.h"

namespace bridgemark {

namespace {

constexpr char kAdded[] = "added";
constexpr std::size_t kMaxLabel = 80;  // bytes: a row of a table begins with it

void check_label(const std::string& label, const std::vector<RunResult>& own) {
  if (!is_one_line(label, kMaxLabel)) {
    throw_invalid("evaluate", "label must be 1 to {} bytes of one line, got '{}'", kMaxLabel,
                  printable(label));
  }
  for (const RunResult& result : own) {
    if (result.method == label) {
      throw_invalid("evaluate",
                    "label must be none of the experiment's own methods, got '{}', which is that "
                    "of {}",
                    printable(label), result.run);
    }
  }
}

// What the experiment calls the column of the pair.
std::string column_of(const std::vector<RunResult>& own, const nlohmann::json& identity,
                      const std::string& pair_name, std::size_t conditional_samples) {
  for (const RunResult& result : own) {
    if (same_pair(result.pair_identity, identity)) {
      if (result.conditional_samples != conditional_samples) {
        throw_invalid("evaluate", "conditional_samples must be {} like the experiment's, got {}",
                      result.conditional_samples, conditional_samples);
      }
      return result.pair;
    }
  }
  for (const RunResult& result : own) {
    if (result.pair == pair_name) {
      throw_invalid("evaluate", "the experiment has another pair '{}': {}, got {}",
                    printable(pair_name), result.pair_identity.dump(), identity.dump());
    }
  }
  return pair_name;
}

// Results of the experiment's own runs.
void require_results(const std::filesystem::path& folder) {
  if (path_exists(folder / kResultsJsonl)) return;
  throw_file(folder.string(), "has no {}; a result is added to the folder of bridgemark run",
             kResultsJsonl);
}

std::vector<RunResult> own_results(const std::filesystem::path& folder) {
  std::vector<RunResult> results = load_results(folder / kResultsJsonl);
  std::erase_if(results, [](const RunResult& result) { return result.solver == kOutsideSolver; });
  return results;
}

// Two labels that differ in nothing but characters that no file name takes have one ID; so may a
// label and a solver of the experiment.
void refuse_namesake(const std::vector<RunResult>& own, const std::filesystem::path& folder,
                     const RunResult& result) {
  std::vector<RunResult> others = load_added_results(folder);
  others.insert(others.end(), own.begin(), own.end());
  for (const RunResult& other : others) {
    if (other.run == result.run && other.method != result.method) {
      throw_invalid("evaluate", "label must differ from '{}' in letters or digits, got '{}'",
                    printable(other.method), printable(result.method));
    }
  }
}

void save_samples(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
                  std::uint64_t seed, const std::filesystem::path& path) {
  const PairedStates test = pair.test_set(context);
  const std::size_t rows = std::min(kAddedSamples, test.x0.rows());
  States x1(rows, pair.dim());
  coupling.sample(context, test.x0.view().slice(0, rows), {seed, DrawPurpose::kPrediction}, 0, x1);
  save_npy(path, {rows, pair.dim()}, std::span<const std::int32_t>(x1.data(), x1.size()));
}

}  // namespace

std::filesystem::path added_folder(const std::filesystem::path& folder, const RunResult& result) {
  return folder / kAdded / result.run;
}

EvaluationRecord evaluate_and_add(const Context& context, const BenchmarkPair& pair,
                                  const Coupling& coupling, const EvaluationOptions& options,
                                  const AddTo& target) {
  require_results(target.folder);
  const FolderLock lock(target.folder);  // no grid works there meanwhile
  const std::vector<RunResult> own = own_results(target.folder);
  check_label(target.label, own);
  check_training_rows(target.rows);
  RunResult result;
  result.experiment = own.empty() ? target.folder.filename().string() : own[0].experiment;
  result.method = target.label;
  result.solver = kOutsideSolver;
  result.pair_identity = pair_record(pair);
  result.pair = column_of(own, result.pair_identity, target.pair_name, options.conditional_samples);
  result.dim = static_cast<int>(pair.dim());
  result.seed = options.seed;
  result.rows = target.rows;
  result.run = run_id_text(
      result.pair,
      fmt::format("{}{}.seed{}", target.label, training_rows_suffix(target.rows), options.seed));
  refuse_namesake(own, target.folder, result);
  if (coupling.own_num_steps() > 0) result.num_steps = std::to_string(coupling.own_num_steps());

  EvaluationRecord record = evaluate_and_record(context, pair, coupling, options, target.rows);
  take_record(record, "evaluation", result);
  result.threads = context.threads();
  const std::filesystem::path folder = added_folder(target.folder, result);
  create_folder(folder);
  save_samples(context, pair, coupling, result.seed, folder / kAddedSamplesFile);
  write_results({result}, folder);
  std::vector<RunResult> all = own;
  for (RunResult& added : load_added_results(target.folder)) all.push_back(std::move(added));
  write_results(all, target.folder);
  return record;
}

std::vector<RunResult> load_added_results(const std::filesystem::path& folder) {
  std::vector<RunResult> results;
  if (!is_folder(folder / kAdded)) return results;
  for (const std::filesystem::path& added : list_folder(folder / kAdded)) {
    if (!path_exists(added / kResultsJsonl)) continue;
    for (RunResult& result : load_results(added / kResultsJsonl)) {
      results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace bridgemark
