#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/record/evaluation_record.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/submission/solver_file.h"

// Where the scores of a solver may go beside its caller: into the results of an experiment or into
// a submission.
namespace bridgemark {

struct ScoreDestination {
  std::optional<std::filesystem::path> add_to = {};      // the folder of an experiment
  std::optional<std::filesystem::path> submission = {};  // the folder of a submission
  // New inputs of a submission (submission/new_inputs.h): a kit, which gets the answers.
  std::optional<std::filesystem::path> answer = {};
  std::optional<std::string> label = {};  // what tables and the board call the solver
  std::string pair_name = {};  // of the column, where the experiment does not have the pair
  // Of the training behind the answers, where nothing but the caller knows them.
  TrainingRows rows = {};
  std::uint64_t training_seed = 0;
  std::optional<double> training_seconds = {};
  KnownOfSolver known = {};
  // Scores of the caller's own, asked for once those of the protocol are there.
  std::function<std::vector<Score>()> own_scores = {};
  // Told what the caller waits for.
  std::function<void(const std::string&)> note = {};
};

// What is known of a training without the caller.
struct KnownTraining {
  bool rows = false;
  bool seconds = false;
};

// How messages spell what a front end asks for.
struct DestinationWords {
  std::string_view add_to, submission, answer, label;
  std::string_view training_seconds;  // after "SUBMISSION needs"
  std::string_view rows_are_known;    // why samples are not the caller's to say
  std::string_view none;
};

// Throws InvalidArgument for what cannot be asked for together, and for what is missing.
void check_destination(const ScoreDestination& destination, const KnownTraining& known,
                       const DestinationWords& words);

// Takes what the run in a folder says of its training: its rows, and what a submission needs.
void take_training_of_run(const std::filesystem::path& run_folder, ScoreDestination& destination);

// Scores a coupling, and adds the scores where they are to go (added_results.h, make_submission.h).
// The record of a submission is that of the answers that it keeps; so is that of answers to a kit,
// whose test set takes the place of the pair's. What does not fit the folder is
// refused before anything is scored.
EvaluationRecord evaluate_to(const Context& context, const BenchmarkPair& pair,
                             const Coupling& coupling, const EvaluationOptions& options,
                             const ScoreDestination& destination);

}  // namespace bridgemark
