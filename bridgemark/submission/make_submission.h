#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/submission/solver_file.h"

namespace bridgemark {

// Where answers go, and what nobody but their maker knows of them.
struct SubmissionTarget {
  std::filesystem::path folder;
  std::string name;  // of the solver; empty where the folder's solver.toml has it
  std::uint64_t training_seed = 0;
  double training_seconds = 0.0;
  TrainingRows rows = {};    // what it was trained on
  KnownOfSolver known = {};  // for a new solver.toml
};

// A coupling's answers to a preset in a submission: draws, and log-marginals and log-probabilities
// where it has them. Nothing else works in the folder while it is there.
class SubmissionEntry {
 public:
  // Writes the answers. A first call writes a solver.toml with blanks for its authors to fill; a
  // later one leaves what they wrote, and replaces answers of the same pair and training seed.
  // Throws InvalidArgument, before anything is written, for a pair that is no preset, another name
  // or other evaluation seeds than the folder's, and another number of conditional samples than the
  // protocol's.
  SubmissionEntry(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
                  const EvaluationOptions& options, const SubmissionTarget& target);

  const SolverFile& solver() const { return solver_; }
  const SubmittedAnswers& answers() const { return answers_; }
  // Where the answers are until they are claimed; without a claim they are gone with the entry.
  const std::filesystem::path& kept() const { return part_.path; }

  // Claims the scores of these answers, as score_answers() has them: the folder then names both.
  void claim(RunResult scores);

 private:
  struct PartFolder {
    std::filesystem::path path = {};
    ~PartFolder();
  };

  std::filesystem::path folder_;
  std::string text_;  // of solver.toml
  FolderLock lock_;
  PartFolder part_;
  SolverFile solver_;
  SubmittedAnswers answers_;
};

}  // namespace bridgemark
