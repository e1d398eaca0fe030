#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace bridgemark {

// What a commitment is a hash of. The salt keeps anybody from trying files against the digest, so
// the whole stays with the solver's makers until the end of the challenge.
struct CommitmentSecret {
  std::string challenge;                      // SHA-256 of challenge.json
  std::string label;                          // the solver's name
  std::string salt;                           // 64 random hexadecimal digits
  std::map<std::string, std::string> sha256;  // of each file, by its name

  // SHA-256 of
  //   bridgemark commitment 1
  //   challenge CHALLENGE
  //   label LABEL
  //   salt SALT
  // and then what `sha256sum` prints of the files, in the order of their names.
  std::string digest() const;
};

// A line of commitments.jsonl.
struct Commitment {
  std::string label;
  std::string digest;
  std::string time;  // UTC, by the clock of the machine that wrote it
};

// Commits a solver to a challenge: writes the secret to a new file, then a line to the challenge's
// commitments.jsonl. Throws InvalidArgument, before anything is written, where the challenge is
// revealed, the label looks like another's, two files have one name, or the secret's file is there.
Commitment commit_solver(const std::filesystem::path& challenge, const std::string& label,
                         const std::vector<std::filesystem::path>& files,
                         const std::filesystem::path& secret);

// Those of a challenge; none where nobody has committed yet. Throws FileError.
std::vector<Commitment> load_commitments(const std::filesystem::path& challenge);

CommitmentSecret load_secret(const std::filesystem::path& path);

}  // namespace bridgemark
