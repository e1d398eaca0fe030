#include "bridgemark/experiment/added_results.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/figure_answers.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/look_alikes.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/pair/pair_record.h"

namespace bridgemark {

namespace {

constexpr char kAdded[] = "added";
constexpr std::size_t kMaxLabel = 80;  // bytes: a row of a table begins with it

void check_label(const std::string& label, const std::vector<RunResult>& own) {
  if (const std::string why = why_no_name(label, kMaxLabel); !why.empty()) {
    throw_invalid("evaluate", "label {}, got '{}'", why, printable(label));
  }
  const std::string look = look_of(label);
  for (const RunResult& result : own) {
    if (look_of(result.method) == look) {
      throw_invalid("evaluate",
                    "label must look like none of the experiment's own methods, got '{}', which "
                    "looks like '{}' of {}",
                    printable(label), printable(result.method), result.run);
    }
  }
}

// What the experiment calls the column of the pair. `others` are all results but the one that this
// one replaces: columns of two pairs with one name could not be reported.
std::string column_of(const std::vector<RunResult>& others, const nlohmann::json& identity,
                      const std::string& pair_name, std::size_t conditional_samples) {
  for (const RunResult& result : others) {
    if (same_scored_pair(result.pair_identity, identity)) {
      if (result.conditional_samples != conditional_samples) {
        throw_invalid("evaluate", "conditional_samples must be {} like the experiment's, got {}",
                      result.conditional_samples, conditional_samples);
      }
      return result.pair;
    }
  }
  for (const RunResult& result : others) {
    if (result.pair == pair_name) {
      throw_invalid("evaluate",
                    "the experiment has another pair '{}': {}, which {} was scored on, got {}",
                    printable(pair_name), pair_text(result.pair_identity), printable(result.run),
                    pair_text(identity));
    }
  }
  return pair_name;
}

// The folder of an experiment that has results.
const std::filesystem::path& with_results(const std::filesystem::path& folder) {
  if (path_exists(folder / kResultsJsonl)) return folder;
  throw_file(folder.string(), "has no {}; a result is added to the folder of bridgemark run",
             kResultsJsonl);
}

// Results of the experiment's own runs.
std::vector<RunResult> own_results(const std::filesystem::path& folder) {
  std::vector<RunResult> results = load_results(folder / kResultsJsonl);
  std::erase_if(results, [](const RunResult& result) { return result.solver == kOutsideSolver; });
  return results;
}

// Two labels that look alike, or differ in nothing but characters that no file name takes and so
// have one ID; so may a label and a solver of the experiment.
void refuse_namesake(const std::vector<RunResult>& others, const RunResult& result) {
  for (const RunResult& other : others) {
    const bool alike = other.run == result.run || look_of(other.method) == look_of(result.method);
    if (alike && other.method != result.method) {
      throw_invalid("evaluate", "label must look unlike '{}' in letters or digits, got '{}'",
                    printable(other.method), printable(result.method));
    }
  }
}

}  // namespace

std::filesystem::path added_folder(const std::filesystem::path& folder, const RunResult& result) {
  return folder / kAdded / result.run;
}

AddedResult::AddedResult(const Context& context, const BenchmarkPair& pair,
                         const EvaluationOptions& options, AddTo target)
    : target_(std::move(target)), conditional_samples_(options.conditional_samples) {
  check_training_rows(target_.rows);
  if (const auto& seconds = target_.training_seconds;
      seconds && (!(*seconds >= 0.0) || std::isinf(*seconds))) {
    throw_invalid("evaluate", "training_seconds must be a number of at least 0, got {}", *seconds);
  }
  result_.method = target_.label;
  result_.solver = kOutsideSolver;
  result_.pair_identity = scored_pair_record(context, pair);
  result_.dim = static_cast<int>(pair.dim());
  result_.seed = options.seed;
  result_.rows = target_.rows;
  result_.train_seconds = target_.training_seconds.value_or(0.0);
  with_results(target_.folder);
  const auto lock = wait_for_folder(context);
  look();
}

std::unique_ptr<FolderLock> AddedResult::wait_for_folder(const Context& context) {
  const auto tell = [&] {
    context.throw_if_interrupted();
    if (told_ || !target_.note) return;
    told_ = true;
    target_.note(fmt::format("waiting for others at work in {}, {} minutes at the most",
                             target_.folder.string(), kLongestQueue.count()));
  };
  return std::make_unique<FolderLock>(target_.folder, FolderLock::Holders::kOne,
                                      LockPatience{kLongestQueue, tell});
}

void AddedResult::look() {
  own_ = own_results(with_results(target_.folder));
  added_ = load_added_results(target_.folder);
  check_label(target_.label, own_);
  result_.experiment = own_.empty() ? target_.folder.filename().string() : own_[0].experiment;
  const auto run_on = [&](const std::string& pair) {
    return run_id_text(pair, fmt::format("{}{}.seed{}", target_.label,
                                         training_rows_suffix(target_.rows), result_.seed));
  };
  std::vector<RunResult> others = own_;
  const std::string replaced = run_on(target_.pair_name);
  for (const RunResult& other : added_) {
    if (other.run != replaced || other.method != target_.label) others.push_back(other);
  }
  result_.pair = column_of(others, result_.pair_identity, target_.pair_name, conditional_samples_);
  result_.run = run_on(result_.pair);
  refuse_namesake(others, result_);
}

void AddedResult::write(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
                        const EvaluationRecord& record) {
  if (coupling.own_num_steps() > 0) result_.num_steps = std::to_string(coupling.own_num_steps());
  take_record(record, "evaluation", result_);
  result_.threads = context.threads();
  const auto lock = wait_for_folder(context);
  look();
  const std::filesystem::path added = added_folder(target_.folder, result_);
  create_folder(added);
  save_figure_answers(context, pair, coupling, result_.seed, conditional_samples_,
                      result_.evaluation_num_steps, added);
  write_results({result_}, added);
  std::vector<RunResult> all = own_;
  for (RunResult& other : load_added_results(target_.folder)) all.push_back(std::move(other));
  write_results(all, target_.folder);
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
