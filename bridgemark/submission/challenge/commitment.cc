#include "bridgemark/submission/challenge/commitment.h"

#include <fmt/format.h>
#include <time.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/json_lines.h"
#include "bridgemark/io/look_alikes.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/sha256.h"
#include "bridgemark/submission/challenge/challenge.h"
#include "bridgemark/submission/solver_file.h"

namespace bridgemark {

namespace {

constexpr int kSecretFormat = 1;
constexpr std::size_t kMaxCommitmentBytes = std::size_t{1} << 24, kLongestFileName = 200;

// From the system's entropy: a draw that could be made again would hide nothing.
std::string random_salt() {
  std::random_device entropy;
  std::string salt;
  for (int word = 0; word < 8; ++word) salt += fmt::format("{:08x}", entropy());
  return salt;
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[sizeof "2026-12-01T00:00:00Z"];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string digest_of(const nlohmann::json& object, std::string_view key, std::string_view file) {
  std::string text = json_get<std::string>(object, key, file);
  if (!is_digest(text)) {
    throw_file(file, "'{}' must be 64 hexadecimal digits, got '{}'", key, printable(text));
  }
  return text;
}

// A name without a folder and a line end, so that a digest is of one list of files alone.
bool is_file_name(const std::string& name) {
  return is_one_line(name, kLongestFileName) && name.find('/') == name.npos && name != "." &&
         name != "..";
}

std::map<std::string, std::string> hashes_of(const std::vector<std::filesystem::path>& files) {
  if (files.empty()) throw_invalid("challenge", "files must be those of the solver, got none");
  std::map<std::string, std::string> hashes;
  for (const std::filesystem::path& path : files) {
    const std::string name = path.filename().string();
    if (!is_file_name(name)) {
      throw_invalid("challenge", "files must have names of one line, got '{}'", printable(name));
    }
    if (!hashes.emplace(name, file_sha256(path)).second) {
      throw_invalid("challenge", "files must have names of their own, got '{}' twice", name);
    }
  }
  return hashes;
}

void check_label(const std::string& label, const std::vector<Commitment>& others) {
  if (const std::string why = why_no_name(label, kMaxSolverName); !why.empty()) {
    throw_invalid("challenge", "label {}, got '{}'", why, printable(label));
  }
  if (const std::string why = why_name_is_taken(label); !why.empty()) {
    throw_invalid("challenge", "label {}", why);
  }
  for (const Commitment& other : others) {
    if (look_of(other.label) == look_of(label)) {
      throw_invalid("challenge", "label must look like that of no other commitment, got '{}'",
                    printable(label));
    }
  }
}

std::string commitment_line(const Commitment& commitment) {
  return nlohmann::ordered_json{
             {"label", commitment.label}, {"digest", commitment.digest}, {"time", commitment.time}}
             .dump() +
         "\n";
}

void save_secret(const CommitmentSecret& secret, const std::filesystem::path& path) {
  const nlohmann::ordered_json json = {{"format", kSecretFormat},
                                       {"challenge", secret.challenge},
                                       {"label", secret.label},
                                       {"salt", secret.salt},
                                       {"sha256", secret.sha256}};
  write_file_atomically(path, json.dump(2) + "\n");
}

}  // namespace

std::string CommitmentSecret::digest() const {
  std::string text = fmt::format("bridgemark commitment 1\nchallenge {}\nlabel {}\nsalt {}\n",
                                 challenge, label, salt);
  for (const auto& [name, hash] : sha256) text += fmt::format("{}  {}\n", hash, name);
  return text_sha256(text);
}

Commitment commit_solver(const std::filesystem::path& challenge, const std::string& label,
                         const std::vector<std::filesystem::path>& files,
                         const std::filesystem::path& secret) {
  load_challenge(challenge);
  const FolderLock lock(challenge);
  if (path_exists(challenge / kRevealedFile)) {
    throw_invalid("challenge", "commitments are closed: {} is there",
                  (challenge / kRevealedFile).string());
  }
  const std::vector<Commitment> others = load_commitments(challenge);
  check_label(label, others);
  if (path_exists(secret)) {
    throw_invalid("challenge", "the secret must be a new file, {} is there", secret.string());
  }
  const CommitmentSecret kept = {file_sha256(challenge / kChallengeFile), label, random_salt(),
                                 hashes_of(files)};
  const Commitment commitment = {label, kept.digest(), time_now()};
  std::string lines;
  for (const Commitment& other : others) lines += commitment_line(other);
  save_secret(kept, secret);
  write_file_atomically(challenge / kCommitmentsFile, lines + commitment_line(commitment));
  return commitment;
}

std::vector<Commitment> load_commitments(const std::filesystem::path& challenge) {
  const std::filesystem::path path = challenge / kCommitmentsFile;
  std::vector<Commitment> commitments;
  std::set<std::string> looks;  // a solver has one commitment, not one to choose from
  if (!path_exists(path)) return commitments;
  each_json_line(path, kMaxCommitmentBytes, LastLine::kIsWhole,
                 [&](const nlohmann::json& value, std::string_view, const std::string& where) {
                   const std::string label = json_get<std::string>(value, "label", where);
                   if (!looks.insert(look_of(label)).second) {
                     throw_file(where, "'label' must look like that of no other line, got '{}'",
                                printable(label));
                   }
                   commitments.push_back({label, digest_of(value, "digest", where),
                                          json_get<std::string>(value, "time", where)});
                 });
  return commitments;
}

CommitmentSecret load_secret(const std::filesystem::path& path) {
  const std::string file = path.string();
  const nlohmann::json json = load_json(path);
  if (const int format = json_get<int>(json, "format", file); format != kSecretFormat) {
    throw_file(file, "'format' must be {}, got {}", kSecretFormat, format);
  }
  CommitmentSecret secret;
  secret.challenge = digest_of(json, "challenge", file);
  secret.label = json_get<std::string>(json, "label", file);
  if (const std::string why = why_no_name(secret.label, kMaxSolverName); !why.empty()) {
    throw_file(file, "'label' {}, got '{}'", why, printable(secret.label));
  }
  secret.salt = digest_of(json, "salt", file);
  const nlohmann::json& hashes = json_part(json, "sha256", nlohmann::json::value_t::object, file);
  for (const auto& [name, hash] : hashes.items()) {
    if (!is_file_name(name)) {
      throw_file(file, "'sha256' must have names of files, got '{}'", printable(name));
    }
    secret.sha256[name] = digest_of(hashes, name, file);
  }
  if (secret.sha256.empty()) throw_file(file, "'sha256' must have the solver's files, got none");
  return secret;
}

}  // namespace bridgemark
