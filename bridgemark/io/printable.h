#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bridgemark {

// Text from a file, made safe to quote in a one-line message: bytes outside printable ASCII
// become \xNN, and what exceeds max_bytes is cut and marked with "...".
std::string printable(std::string_view text, std::size_t max_bytes = 80);

// Text for a terminal: UTF-8 stays as it is, and control characters, those that turn the direction
// of writing and bytes that are no UTF-8 become \xNN. What exceeds max_bytes is cut and marked.
std::string terminal_text(std::string_view text, std::size_t max_bytes = 4000);

}  // namespace bridgemark
