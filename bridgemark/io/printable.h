#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "bridgemark/core/terminal_text.h"

namespace bridgemark {

// Text from a file, made safe to quote in a one-line message: bytes outside printable ASCII
// become \xNN, and what exceeds max_bytes is cut and marked with "...".
std::string printable(std::string_view text, std::size_t max_bytes = 80);

}  // namespace bridgemark
