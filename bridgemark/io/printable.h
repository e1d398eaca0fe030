#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "bridgemark/core/terminal_text.h"

namespace bridgemark {

// Text from a file, made safe to quote in a one-line message: bytes outside printable ASCII
// become \xNN, and what exceeds max_bytes is cut and marked with "...".
std::string printable(std::string_view text, std::size_t max_bytes = 80);

// Whether a text is 1 to max_bytes bytes without control characters: what a row of a table or a
// line of a message can begin with.
bool is_one_line(std::string_view text, std::size_t max_bytes);

}  // namespace bridgemark
