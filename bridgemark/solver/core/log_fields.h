#pragma once

#include <span>
#include <string_view>

namespace bridgemark {

// What a key of a line of log.jsonl means. docs/formats.md lists them, and no training writes
// another.
struct LogField {
  std::string_view key;
  std::string_view unit;  // empty for what has none
  std::string_view meaning;
};

// All keys, those of every line first.
std::span<const LogField> log_fields();

// Null for a key that no line has.
const LogField* find_log_field(std::string_view key);

}  // namespace bridgemark
