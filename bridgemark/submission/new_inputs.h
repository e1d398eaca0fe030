#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/submission/solver_file.h"

// Answers in files could be made without a solver. So whoever checks a submission can ask its
// makers for answers to inputs that nobody knew when the submission was made, and tell whether they
// are of the solver that made the others.
namespace bridgemark {

// The pair with another test set: draws that depend on the seed and on a hash of the answers, so
// that the answers were there before them.
BenchmarkPair pair_with_new_inputs(const Context& context, const SubmittedAnswers& answers,
                                   std::uint64_t seed);

// Writes a kit (write_kit) of the new inputs for each set of answers: folder/answers_folder().
// Returns these folders.
std::vector<std::filesystem::path> write_new_inputs(const Context& context,
                                                    const SolverFile& solver, std::uint64_t seed,
                                                    const std::filesystem::path& folder);

// The pair with the test set of such a kit, for a solver that is to answer it. Throws FileError for
// one that is none, or is of another space.
BenchmarkPair pair_of_kit(const BenchmarkPair& pair, const std::filesystem::path& kit);

// The seed of the draws that answer a kit: other draws than those for the test set.
std::uint64_t seed_of_new_answers(std::uint64_t evaluation_seed);

// Each way in which the answers to new inputs cannot be of the solver that made those of the
// submission, a line with the folder; none where they can. They are in folder/answers_folder() of
// each set of answers, as load_predictions() reads them. For draws and probabilities of one solver,
// values of old and new rows are draws of one law (rank_shift.h). Each check fails an honest
// solver with a probability of at most kFalseAlarmRate:
//   the shape score of the draws for each conditional input, beside draws of the truth;
//   the truth's log-probability of the answer to each test row;
//   log q*(x1|x0) - log q(x1|x0) of each test row, where the solver states probabilities.
// What a submission may not have (impossible_statements, refuse_impossible_joint), new answers may
// not have either.
std::vector<std::string> judge_new_answers(const Context& context,
                                           const std::filesystem::path& submission,
                                           const SolverFile& solver, std::uint64_t seed,
                                           const std::filesystem::path& folder);

// What was asked, how much was answered, and that the answers agree: what there is to say where
// judge_new_answers() finds nothing.
std::string agreement_text(const SolverFile& solver, std::uint64_t seed,
                           const std::filesystem::path& folder);

}  // namespace bridgemark
