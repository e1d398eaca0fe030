#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace bridgemark {

// What a training says of itself every log_every updates: a line of log.jsonl.
struct LogLine {
  std::int64_t update = 0;
  double loss = 0.0;  // mean since the line before; NaN where it is null
  double seconds = 0.0;
  std::string text;  // the whole line, a JSON object with more where a solver has stages
};

// The lines of a training's log in their order; those of other events are left out, and so is an
// unfinished last line, which a killed run may leave. Throws FileError with the line for what no
// training writes.
std::vector<LogLine> read_training_log(const std::filesystem::path& path);

// The file that these lines are.
std::string log_text(const std::vector<LogLine>& lines);

}  // namespace bridgemark
