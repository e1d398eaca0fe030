#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace bridgemark {

// What a checkpoint says of itself beside its tensors.
using CheckpointMetadata = std::map<std::string, std::string>;

// Where a training keeps its checkpoint and log; empty paths keep none.
struct TrainingFiles {
  std::filesystem::path checkpoint;
  std::filesystem::path log;
  CheckpointMetadata metadata = {};
  // Where ranks that share a model write it, since none of them has it as a whole.
  std::filesystem::path model = {};
};

}  // namespace bridgemark
