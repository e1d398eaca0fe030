#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/metric/record/evaluation_record.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/submission/solver_file.h"

namespace bridgemark {

// The answers of a submission, scored.
struct ScoredAnswers {
  RunResult result;  // as the tables of an experiment show it, under the solver's name
  EvaluationRecord record;
  std::vector<std::string> impossible;  // impossible_statements() and scores_above_truth()
};

// Scores the answers in a folder by the protocol with the seeds of the submission. Throws FileError
// where a file is missing or misshapen, InvalidArgument for a joint KL that no probabilities have.
ScoredAnswers score_answers(const Context& context, const BenchmarkPair& pair,
                            const std::filesystem::path& kept, const SolverFile& solver,
                            const SubmittedAnswers& answers);

// Whether they could be draws and probabilities of one solver: fills in what is impossible.
void judge_answers(const Context& context, const BenchmarkPair& pair,
                   const std::filesystem::path& kept, const SolverFile& solver,
                   ScoredAnswers& scored);

// Scores and their errors are sums in float64, whose last digits hang on the machine: a claim holds
// where it differs from what was found by no more than this, of 1 or of the value where that is
// more.
inline constexpr double kClaimTolerance = 1e-6;

// Each way in which claimed scores differ from those found, a line without the file; none where the
// claim holds. Those of a trained classifier (ScoreSpec::of_classifier) are not compared.
std::vector<std::string> false_claims(const std::vector<Score>& claimed,
                                      const std::vector<Score>& found);

}  // namespace bridgemark
