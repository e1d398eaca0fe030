#include "bridgemark/submission/challenge/challenge.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/pair/training_set.h"
#include "bridgemark/submission/submission_layout.h"

namespace bridgemark {

namespace {

constexpr int kChallengeFormat = 1;
constexpr std::size_t kMostPairs = 96, kLongestText = 200;

void check_challenge(const Challenge& challenge) {
  if (challenge.pairs.empty() || challenge.pairs.size() > kMostPairs) {
    throw_invalid("challenge", "there must be 1..{} pairs, got {}", kMostPairs,
                  challenge.pairs.size());
  }
  std::set<std::string> seen;
  for (const std::string& pair : challenge.pairs) {
    if (const std::string why = why_no_board_pair(pair); !why.empty()) {
      throw_invalid("challenge", "{}", why);
    }
    if (!seen.insert(pair).second) throw_invalid("challenge", "pair '{}' is given twice", pair);
  }
  if (challenge.instances < kFewestInstances || challenge.instances > kMostInstances) {
    throw_invalid("challenge", "instances must be in {}..{}, got {}", kFewestInstances,
                  kMostInstances, challenge.instances);
  }
  check_training_rows({challenge.samples, 0});
  if (challenge.max_seconds &&
      !(*challenge.max_seconds > 0.0 && std::isfinite(*challenge.max_seconds))) {
    throw_invalid("challenge", "max_seconds must be a positive number, got {}",
                  *challenge.max_seconds);
  }
  for (const auto& [key, text] :
       {std::pair("closes", &challenge.closes), std::pair("value_from", &challenge.value_from)}) {
    if (!is_one_line(*text, kLongestText)) {
      throw_invalid("challenge", "{} must be a line of 1 to {} bytes, got '{}'", key, kLongestText,
                    printable(*text));
    }
  }
}

}  // namespace

void write_challenge(const Challenge& challenge, const std::filesystem::path& folder) {
  check_challenge(challenge);
  const std::filesystem::path path = folder / kChallengeFile;
  if (path_exists(path)) {
    throw_invalid("challenge", "{} is there: a challenge is written once", path.string());
  }
  nlohmann::ordered_json json = {
      {"format", kChallengeFormat},       {"pairs", challenge.pairs},
      {"instances", challenge.instances}, {"samples", challenge.samples},
      {"closes", challenge.closes},       {"value_from", challenge.value_from}};
  if (challenge.max_seconds) json["max_seconds"] = *challenge.max_seconds;
  create_folder(folder);
  write_file_atomically(path, json.dump(2) + "\n");
}

Challenge load_challenge(const std::filesystem::path& folder) {
  const std::string file = (folder / kChallengeFile).string();
  const nlohmann::json json = load_json(file);
  if (const int format = json_get<int>(json, "format", file); format != kChallengeFormat) {
    throw_file(file, "'format' must be {}, got {}", kChallengeFormat, format);
  }
  Challenge challenge;
  for (const auto& pair : json_part(json, "pairs", nlohmann::json::value_t::array, file)) {
    if (!pair.is_string()) throw_file(file, "'pairs' must be a list of names");
    challenge.pairs.push_back(pair.get<std::string>());
  }
  challenge.instances = json_get<int>(json, "instances", file);
  challenge.samples = json_get<std::uint64_t>(json, "samples", file);
  if (json.contains("max_seconds")) {
    challenge.max_seconds = json_get<double>(json, "max_seconds", file);
  }
  challenge.closes = json_get<std::string>(json, "closes", file);
  challenge.value_from = json_get<std::string>(json, "value_from", file);
  try {
    check_challenge(challenge);
  } catch (const InvalidArgument& error) {
    throw_file(file, "{}", error.what());
  }
  return challenge;
}

}  // namespace bridgemark
