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
};

}  // namespace bridgemark
