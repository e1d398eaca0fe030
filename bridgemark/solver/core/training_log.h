#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace bridgemark {

// A line of log.jsonl that tells of updates.
struct LogLine {
  std::int64_t update = 0;
  double loss = 0.0;  // mean since the line before; NaN where it is null
  double seconds = 0.0;
  std::string text;  // the whole line
};

// The lines of a training's log in their order; those of other events are left out, and so is an
// unfinished last line, which a killed run may leave. Throws FileError with the line for what no
// training writes.
std::vector<LogLine> read_training_log(const std::filesystem::path& path);

}  // namespace bridgemark
