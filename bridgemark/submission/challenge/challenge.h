#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// A challenge by commitment: solvers are fixed by a hash before a public random value decides which
// pairs they have to learn, so that no solver can know them. Its folder:
//   challenge.json      what is asked for, written once
//   commitments.jsonl   a line for each solver, until the value is there (commitment.h)
//   revealed.json       the value, and the pairs that follow from it (reveal.h)
namespace bridgemark {

struct Challenge {
  std::vector<std::string> pairs = {};  // presets, also reversed
  int instances = 0;                    // of each preset
  std::size_t samples = 0;  // rows a side of a training set of the instance; 0: endless draws
  std::optional<double> max_seconds = {};  // of one training
  std::string closes = {};                 // until when commitments are taken, for people
  std::string value_from = {};             // the public random value that will decide, for people
};

inline constexpr char kChallengeFile[] = "challenge.json";
inline constexpr char kCommitmentsFile[] = "commitments.jsonl";
inline constexpr char kRevealedFile[] = "revealed.json";

// Fewer instances say nothing of how much a solver's distance changes from one to the next.
inline constexpr int kFewestInstances = 2;
inline constexpr int kMostInstances = 100;

// Writes folder/challenge.json. Throws InvalidArgument for what cannot be asked for, and where the
// folder has a challenge.
void write_challenge(const Challenge& challenge, const std::filesystem::path& folder);

// Throws FileError for what write_challenge() would not write.
Challenge load_challenge(const std::filesystem::path& folder);

}  // namespace bridgemark
