#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/pair/training_set.h"
#include "bridgemark/solver/core/solver.h"

// A run is one solver fitted to one pair, to a training set of it or to data, in a folder of its
// own:
//   config.toml           what was asked for
//   model.safetensors     the parameters
//   checkpoint.safetensors  the whole training state, for trained solvers; of ranks that share a
//                         model the progress alone, and checkpoint-UPDATE-RANKofRANKS.safetensors
//                         beside it has a rank's share
//   log.jsonl             one event a line
//   result.json           how it went; its presence says that the run is complete
//   data.safetensors      the data of a run that was fitted to data instead of a pair
//   lock                  there and locked while something works in the folder
namespace bridgemark {

// What was asked of a run: config.toml.
struct RunConfig {
  std::string solver;
  std::string pair;  // a preset's name or a folder; empty for own data
  std::uint64_t seed = 0;
  std::map<std::string, std::string, std::less<>> options;  // every option of the solver
  TrainingRows rows = {};  // a training set of the pair, or endless draws of it
  // Given to a run when it begins, and in each of its files that says what it is of; empty in a
  // folder of an older version. Not part of a request.
  std::string identity = {};
  // Where the folder of the pair was when the run began; likewise.
  struct PairPaths {
    std::string whole, from_run;
  };
  std::optional<PairPaths> pair_paths = {};
};

// Write and read the config.toml of a run folder. Throw FileError for one that is not there or not
// ours.
void save_run_config(const RunConfig& config, const std::filesystem::path& folder);
RunConfig load_run_config(const std::filesystem::path& folder);

// Whether the folder holds a run that came to its end.
bool is_complete_run(const std::filesystem::path& folder);

// Fits the solver and fills the folder. A folder that already holds a run is refused, unless
// `resume` is set and its configuration, pair and data are the same: then a complete run is left as
// it is and another one goes on. So is a folder that another run is at work in. A training that
// diverges leaves its log and last checkpoint in a folder that another run may use. Ranks of the
// context make one run together, in a folder that all of them see. `watch` follows the training;
// its truth is that of the pair.
void train_run(const Context& context, const RunConfig& config, const std::filesystem::path& folder,
               bool resume);

// The same for a pair or data at hand; config.pair is what the run says it was fitted to. With
// config.rows the problem is a pair, and its training set is fitted; the run's folder does not hold
// those rows, which are drawn again from the pair. Returns what was fitted, read back where the run
// was complete before.
Fitted train_run(const Context& context, const RunConfig& config, const FitProblem& problem,
                 const std::filesystem::path& folder, bool resume, const TrainingWatch& watch = {});

// The same fit with these files, and no run that is kept.
Fitted fit_run(const Context& context, const RunConfig& config, const FitProblem& problem,
               TrainingFiles files);

// What the solver of a run saw: the training set of the pair where config.rows asks for one, else
// `problem` itself. Throws InvalidArgument for rows that no pair has, or where there is no pair.
FitProblem trained_problem(const Context& context, const RunConfig& config,
                           const FitProblem& problem);

// Which rows these are.
RowKind rows_of_run(const TrainingRows& rows, const FitProblem& problem);

// Keeps what was fitted in `seconds` without a folder as a complete run, but for its checkpoint.
// A folder that already holds a run is refused.
void save_run(const Context& context, const RunConfig& config, const FitProblem& problem,
              const Fitted& fitted, double seconds, const std::filesystem::path& folder);

// The coupling of a complete run, in the direction of the pair where its solver answers both.
// A run that was fitted to data is taken for one of the pair where reference, S and D agree. Throws
// InvalidArgument when they do not, or when it was fitted to another pair.
std::shared_ptr<const Coupling> load_run(const Context& context, const BenchmarkPair& pair,
                                         const std::filesystem::path& folder);

// A complete run by itself, whatever it was fitted to.
struct LoadedRun {
  RunConfig config;
  FitProblem problem;  // the pair, also where a training set of it was fitted, or the data
  std::shared_ptr<const Coupling> coupling;
};
LoadedRun load_whole_run(const Context& context, const std::filesystem::path& folder);

// What a run's training said of itself; empty without a log or a training. Throws FileError for a
// log that no training writes.
std::vector<LogLine> load_run_history(const std::filesystem::path& folder);

}  // namespace bridgemark
