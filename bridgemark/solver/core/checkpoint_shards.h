#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "bridgemark/io/safetensors.h"

// A checkpoint is one file, checkpoint.safetensors. Ranks that share a model write a shard each
// beside it, checkpoint-UPDATE-RANKofRANKS.safetensors, and once all are there the first rank
// writes the file itself, which then has the progress alone and says how many shards there are. So
// that file and the shards it counts belong together, whenever a process is killed.
namespace bridgemark {

struct ShardSet {
  std::int64_t update = 0;
  int ranks = 0;
};

// The shard of a rank, counted from 0.
std::filesystem::path shard_path(const std::filesystem::path& checkpoint, const ShardSet& set,
                                 int rank);

// Says in a checkpoint that its tensors are in shards, and reads it: 0 where it has them itself.
void set_shard_count(SafetensorsWriter& writer, int ranks);
int shard_count(const SafetensorsFile& file, const std::filesystem::path& checkpoint);

// The shards in the order of their ranks. Throws FileError where one is missing.
std::vector<SafetensorsFile> open_shards(const std::filesystem::path& checkpoint,
                                         const ShardSet& set);

// Removes all shards beside a checkpoint but those of `kept`, and what killed writers left of any.
void remove_shards(const std::filesystem::path& checkpoint, const std::optional<ShardSet>& kept);

}  // namespace bridgemark
