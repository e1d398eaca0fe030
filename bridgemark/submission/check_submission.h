#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/submission/solver_file.h"

namespace bridgemark {

struct SubmissionCheck {
  SolverFile solver;
  std::vector<RunResult> results;     // of all answers, scored here and now: what a board shows
  std::vector<std::string> refusals;  // one line each; none: the submission is good
};

// Holds a submission against this version's truth: every name and limit of solver.toml, the
// fingerprint of each pair, the hash, shape and categories of each file of answers, and the claimed
// scores, which are computed again from the answers. Nothing of the submission is run or believed.
// Throws FileError where solver.toml or results.jsonl cannot be read at all; writes nothing.
SubmissionCheck check_submission(const Context& context, const std::filesystem::path& folder);

// The same for what must be good: throws FileError with the first refusal.
SubmissionCheck require_submission(const Context& context, const std::filesystem::path& folder);

// The submissions of a folder: itself where it has a solver.toml, else its sub-folders that have
// one, by their names. Throws FileError where there are none.
std::vector<std::filesystem::path> find_submissions(const std::filesystem::path& folder);

}  // namespace bridgemark
