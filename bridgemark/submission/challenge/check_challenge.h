#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/submission/challenge/open_distance.h"
#include "bridgemark/submission/solver_file.h"

namespace bridgemark {

struct ChallengeEntry {
  std::filesystem::path challenge;
  std::filesystem::path submission;  // with answers to the revealed instances
  std::filesystem::path secret;
  std::filesystem::path files;  // the folder with the files that were committed to
  std::optional<std::filesystem::path> open =
      {};  // a submission with answers to the presets themselves
};

// One set of answers, by the score that decides.
struct ChallengeScore {
  std::string pair;
  double seconds = 0.0;  // of the training, as the submission says
  double value = 0.0;
  double standard_error = 0.0;
  double of_truth = 0.0;  // what the truth itself has
  double distance = 0.0;  // from it: at least 2 standard errors
};

struct ChallengeCheck {
  SolverFile solver;
  std::vector<std::string> refusals;  // one line each; none: the entry is good
  std::string score;                  // the name of the one that decides
  std::vector<ChallengeScore> revealed, open;
  std::vector<PresetVerdict> verdicts;  // of each preset, where there is an open submission

  // Whether the solver is worse on what it could not know than its open answers let expect.
  bool is_far() const;
};

// Holds an entry against its challenge: the files are those that were committed to before the
// value, the submission is good (check_submission) and has exactly the revealed instances, with
// their training sets and the revealed seed, each trained in the time that is allowed. Of a good
// entry it gives the distance from the truth on each instance: the joint KL where every set of
// answers has a finite one, else by how much the score of draws that decides otherwise falls short
// of that of the truth's own draws. Throws FileError where the challenge, its reveal, the secret or
// solver.toml cannot be read at all; writes nothing and runs nothing of the entry.
ChallengeCheck check_challenge(const Context& context, const ChallengeEntry& entry);

}  // namespace bridgemark
