#include "bridgemark/solver/core/checkpoint_shards.h"

#include <fmt/format.h>

#include <charconv>
#include <regex>
#include <string>
#include <system_error>

#include "bridgemark/core/error.h"
#include "bridgemark/io/printable.h"

namespace bridgemark {

namespace {

constexpr char kShards[] = "shards";
constexpr int kMostShards = 1 << 16;

std::string name_of(const std::filesystem::path& checkpoint, const ShardSet& set, int rank) {
  return fmt::format("{}-{}-{}of{}{}", checkpoint.stem().string(), set.update, rank + 1, set.ranks,
                     checkpoint.extension().string());
}

}  // namespace

std::filesystem::path shard_path(const std::filesystem::path& checkpoint, const ShardSet& set,
                                 int rank) {
  return checkpoint.parent_path() / name_of(checkpoint, set, rank);
}

void set_shard_count(SafetensorsWriter& writer, int ranks) {
  writer.set_metadata(kShards, std::to_string(ranks));
}

int shard_count(const SafetensorsFile& file, const std::filesystem::path& checkpoint) {
  const auto found = file.metadata().find(kShards);
  if (found == file.metadata().end()) return 0;
  const std::string& text = found->second;
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 ||
      count > kMostShards) {
    throw_file(checkpoint.string(), "metadata '{}' must be a whole number in 1..{}, got '{}'",
               kShards, kMostShards, printable(text));
  }
  return count;
}

std::vector<SafetensorsFile> open_shards(const std::filesystem::path& checkpoint,
                                         const ShardSet& set) {
  std::vector<SafetensorsFile> shards;
  for (int rank = 0; rank < set.ranks; ++rank) {
    shards.push_back(SafetensorsFile::load(shard_path(checkpoint, set, rank)));
  }
  return shards;
}

void remove_shards(const std::filesystem::path& checkpoint, const std::optional<ShardSet>& kept) {
  // A shard, or the temporary file that was to become one.
  static const std::regex kShard(R"(\.?(.+-(\d+)-\d+of(\d+)\.[a-z]+)(\.tmp-[a-z0-9]{6})?)");
  const std::string start = checkpoint.stem().string() + "-";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoint.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    std::smatch parts;
    if (!std::regex_match(name, parts, kShard) || !parts[1].str().starts_with(start)) continue;
    const bool temporary = parts[4].matched;
    if (!temporary && kept && parts[2] == std::to_string(kept->update) &&
        parts[3] == std::to_string(kept->ranks)) {
      continue;
    }
    std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace bridgemark
