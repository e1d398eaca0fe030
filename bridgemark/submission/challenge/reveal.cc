#include "bridgemark/submission/challenge/reveal.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/sha256.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/submission/challenge/challenge.h"
#include "bridgemark/submission/challenge/commitment.h"

namespace bridgemark {

namespace {

constexpr std::size_t kLongestValue = 1000, kMaxRevealedBytes = std::size_t{1} << 24;
constexpr std::uint64_t kSeeds = 1'000'000'000;

// The numbers that follow from the hash of a reveal.
class RevealedNumbers {
 public:
  explicit RevealedNumbers(std::string root) : root_(std::move(root)) {}

  std::uint64_t of(const std::string& purpose) const {
    Sha256 hash;
    hash.add(root_ + " " + purpose + "\n");
    const Sha256::Digest digest = hash.finish();
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i) number = number << 8 | digest[i];
    return number;
  }

 private:
  std::string root_;
};

std::string root_of(const std::filesystem::path& challenge, const std::string& value) {
  return text_sha256(fmt::format("bridgemark reveal 1\nchallenge {}\ncommitments {}\nvalue {}\n",
                                 file_sha256(challenge / kChallengeFile),
                                 file_sha256(challenge / kCommitmentsFile), value));
}

std::string revealed_text(const std::filesystem::path& challenge, const Reveal& reveal) {
  nlohmann::ordered_json instances = nlohmann::ordered_json::array();
  for (const RevealedInstance& instance : reveal.instances) {
    nlohmann::ordered_json entry = {{"kit", instance.kit}, {"pair", instance.pair}};
    if (instance.rows.samples > 0) {
      entry["samples"] = instance.rows.samples;
      entry["training_set"] = instance.rows.training_set;
    }
    instances.push_back(std::move(entry));
  }
  const nlohmann::ordered_json json = {{"format", 1},
                                       {"challenge", file_sha256(challenge / kChallengeFile)},
                                       {"commitments", file_sha256(challenge / kCommitmentsFile)},
                                       {"value", reveal.value},
                                       {"seed", reveal.seed},
                                       {"instances", std::move(instances)}};
  return json.dump(2) + "\n";
}

void write_unnamed_kit(const Context& context, const RevealedInstance& instance,
                       const std::filesystem::path& folder) {
  const BenchmarkPair pair = load_pair(instance.pair);
  write_kit(context, pair, folder, instance.rows);
  const ReferenceProcess reference = pair.reference();
  nlohmann::json json = {{"kit", instance.kit},
                         {"dim", pair.dim()},
                         {"num_categories", pair.num_categories()},
                         {"reference", reference_kind_name(reference.kind())},
                         {"gamma", reference.gamma()},
                         {"total_steps", reference.total_steps()}};
  if (instance.rows.samples > 0) json["samples"] = instance.rows.samples;
  save_json(folder / "kit.json", json);  // in place of that of write_kit, which names the pair
}

}  // namespace

Reveal derive_reveal(const std::filesystem::path& folder, const std::string& value) {
  const Challenge challenge = load_challenge(folder);
  if (!is_one_line(value, kLongestValue)) {
    throw_invalid("challenge", "value must be a line of 1 to {} bytes, got '{}'", kLongestValue,
                  printable(value));
  }
  if (load_commitments(folder).empty()) {
    throw_invalid("challenge", "there must be commitments before the value, {} has none",
                  (folder / kCommitmentsFile).string());
  }
  const RevealedNumbers numbers(root_of(folder, value));
  Reveal reveal = {value, numbers.of("seed") % kSeeds, {}};
  for (const std::string& pair : challenge.pairs) {
    std::set<std::uint64_t> taken;
    for (int i = 1; i <= challenge.instances; ++i) {
      std::string purpose = fmt::format("instance {} of {}", i, pair);
      const auto number_of = [&] {
        return kFirstRevealedNumber +
               numbers.of(purpose) % (kMaxInstance + 1 - kFirstRevealedNumber);
      };
      std::uint64_t number = number_of();
      while (!taken.insert(number).second) {
        purpose += ", again";
        number = number_of();
      }
      RevealedInstance instance = {std::to_string(reveal.instances.size() + 1),
                                   instance_name({pair, static_cast<int>(number)})};
      if (challenge.samples > 0) {
        instance.rows = {
            challenge.samples,
            numbers.of(fmt::format("training set of instance {} of {}", i, pair)) % kSeeds};
      }
      reveal.instances.push_back(std::move(instance));
    }
  }
  return reveal;
}

Reveal reveal_challenge(const std::filesystem::path& challenge, const std::string& value) {
  load_challenge(challenge);
  const FolderLock lock(challenge);
  const std::filesystem::path path = challenge / kRevealedFile;
  if (path_exists(path)) {
    Reveal kept = load_reveal(challenge);
    if (kept.value != value) {
      throw_invalid("challenge", "value must be '{}', which {} has, got '{}'",
                    printable(kept.value), path.string(), printable(value));
    }
    return kept;
  }
  Reveal reveal = derive_reveal(challenge, value);
  write_file_atomically(path, revealed_text(challenge, reveal));
  return reveal;
}

Reveal load_reveal(const std::filesystem::path& challenge) {
  const std::string file = (challenge / kRevealedFile).string();
  const nlohmann::json json = load_json(file);
  Reveal reveal = derive_reveal(challenge, json_get<std::string>(json, "value", file));
  if (read_file(file, kMaxRevealedBytes) != revealed_text(challenge, reveal)) {
    throw_file(file, "is not what follows from {}, {} and the value '{}'", kChallengeFile,
               kCommitmentsFile, printable(reveal.value));
  }
  return reveal;
}

std::vector<std::filesystem::path> write_challenge_kits(const Context& context,
                                                        const Reveal& reveal,
                                                        const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> written;
  for (const RevealedInstance& instance : reveal.instances) {
    written.push_back(folder / instance.kit);
    write_unnamed_kit(context, instance, written.back());
    context.report("kits written", written.size(), reveal.instances.size());
  }
  return written;
}

}  // namespace bridgemark
