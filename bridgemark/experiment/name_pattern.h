#pragma once

#include <fnmatch.h>

#include <string>
#include <string_view>

namespace bridgemark {

// Names by a pattern with * and ?, which must match the whole name.
inline bool is_pattern(std::string_view text) { return text.find_first_of("*?") != text.npos; }

inline bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace bridgemark
