#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/metric/record/evaluation_record.h"
#include "bridgemark/pair/benchmark_pair.h"

// Solvers that an experiment did not run itself, in its folder: its tables and report show them
// beside its own.
//   added/ID/results.csv, .jsonl  the scores, as the experiment's own
//   added/ID/samples.npy, conditional.npy, trajectories.npy
//                                 answers for the report's figures (figure_answers.h)
// An ID is PAIR.LABEL.seedN with the seed of the evaluation, PAIR.LABEL.nN.setI.seedN for a solver
// that was trained on N rows of training set I; the same one again replaces the earlier result.
namespace bridgemark {

inline constexpr char kOutsideSolver[] = "outside";       // RunResult::solver of an added result
inline constexpr std::chrono::minutes kLongestQueue{10};  // that an addition waits for others

std::filesystem::path added_folder(const std::filesystem::path& folder, const RunResult& result);

// Where a result goes: the folder of an experiment, what tables call the solver, and what the
// column of the pair is called where the experiment does not have that pair.
struct AddTo {
  std::filesystem::path folder;
  std::string label;
  std::string pair_name;
  TrainingRows rows = {};  // what the solver was trained on
  std::optional<double> training_seconds = {};
  // Told once where others are at work in the folder, for whom the addition waits.
  std::function<void(const std::string&)> note = {};
};

// A place for the scores of a solver among the results of an experiment. It has the folder alone,
// with no grid and no other addition beside it, while it looks and while it writes, not in between:
// additions queue, each for at most kLongestQueue, and are scored side by side.
class AddedResult {
 public:
  // Throws FileError where the folder has no results, FolderBusy where others keep it for too long,
  // InvalidArgument for a label that is a method of the experiment itself, for another pair or
  // test set of the same name, be it the experiment's or of another addition, and for another
  // number of conditional samples, whose scores do not compare.
  AddedResult(const Context& context, const BenchmarkPair& pair, const EvaluationOptions& options,
              AddTo target);

  // Writes what an evaluation of the coupling by these options said, and its first answers. The
  // experiment's results, tables and report then have it. Throws as the constructor does, where
  // the folder has changed since.
  void write(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
             const EvaluationRecord& record);

 private:
  std::unique_ptr<FolderLock> wait_for_folder(const Context& context);
  // Under the lock: what the folder has, and whether the result goes with it.
  void look();

  AddTo target_;
  std::size_t conditional_samples_;
  bool told_ = false;
  std::vector<RunResult> own_, added_;  // the experiment's, and what was added
  RunResult result_;
};

// What was added to a folder, by the names of the IDs; nothing where nothing was.
std::vector<RunResult> load_added_results(const std::filesystem::path& folder);

}  // namespace bridgemark
