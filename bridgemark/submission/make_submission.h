#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/record/evaluation_record.h"
#include "bridgemark/pair/benchmark_pair.h"

namespace bridgemark {

// Where answers go, and what nobody but their maker knows of them.
struct SubmissionTarget {
  std::filesystem::path folder;
  std::string name;  // of the solver; empty where the folder's solver.toml has it
  std::uint64_t training_seed = 0;
  double training_seconds = 0.0;
  TrainingRows rows = {};  // what it was trained on
};

// Keeps a coupling's answers to a preset in a submission and scores them there: draws, and
// log-marginals and log-probabilities where it has them. The record is that of the kept answers, so
// a check of the submission finds the same. A first call writes a solver.toml with blanks for its
// authors to fill; a later one leaves what they wrote, and replaces answers of the same pair and
// training seed. Throws InvalidArgument, before anything is written, for a pair that is no preset,
// another name or other evaluation seeds than the folder's, and another number of conditional
// samples than the protocol's.
EvaluationRecord evaluate_and_submit(const Context& context, const BenchmarkPair& pair,
                                     const Coupling& coupling, const EvaluationOptions& options,
                                     const SubmissionTarget& target);

}  // namespace bridgemark
