#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/solver/core/training_log.h"

namespace bridgemark {

// What a checkpoint says of itself beside its tensors.
using CheckpointMetadata = std::map<std::string, std::string>;

// Who follows a training beside its log. Nothing here changes what is trained, and the time that it
// takes is none of the training's seconds.
struct TrainingWatch {
  // Told of each line of the log as it is written; may be empty. It can make the context say stop.
  std::function<void(const LogLine&)> on_line = {};
  // A folder that gets an event file of TensorBoard with the numbers of each line; empty: none.
  std::filesystem::path event_folder = {};
  // What validate_every scores the model against, for rows of a pair's training set. A training
  // looks at it for nothing else. Empty for data; a pair that is trained on is its own.
  std::optional<BenchmarkPair> truth = {};
};

// Where a training keeps its checkpoint and log; empty paths keep none.
struct TrainingFiles {
  std::filesystem::path checkpoint;
  std::filesystem::path log;
  CheckpointMetadata metadata = {};
  // Where ranks that share a model write it, since none of them has it as a whole.
  std::filesystem::path model = {};
  TrainingWatch watch = {};
};

}  // namespace bridgemark
