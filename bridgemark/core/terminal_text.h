#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bridgemark {

// Text for a terminal: UTF-8 stays as it is, and control characters, those that turn the direction
// of writing and bytes that are no UTF-8 become \xNN. What exceeds max_bytes is cut and marked.
std::string terminal_text(std::string_view text, std::size_t max_bytes = 4000);

}  // namespace bridgemark
