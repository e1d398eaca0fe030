#pragma once

#include <filesystem>

namespace bridgemark {

// Where a training keeps its checkpoint and log; empty paths keep none.
struct TrainingFiles {
  std::filesystem::path checkpoint;
  std::filesystem::path log;
};

}  // namespace bridgemark
