#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace bridgemark {

// What a last line without a line end may be: a part of one, which a killed writer leaves, or not.
enum class LastLine { kMayBeUnfinished, kIsWhole };

// Called with a line's value, its text, and "FILE: line 7", which messages about it start with.
using JsonLineFn = std::function<void(const nlohmann::json& value, std::string_view text,
                                      const std::string& where)>;

// Each line of a file of at most max_bytes as parse_json reads it; empty lines are left out. Throws
// FileError with the line.
void each_json_line(const std::filesystem::path& path, std::size_t max_bytes, LastLine last,
                    const JsonLineFn& read);

}  // namespace bridgemark
