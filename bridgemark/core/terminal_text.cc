#include "bridgemark/core/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bridgemark/core/utf8.h"

namespace bridgemark {

namespace {

bool is_plain(char32_t c) {
  const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
  const bool turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x61c ||
                     c == 0x200e || c == 0x200f;
  return !control && !turns;
}

}  // namespace

std::string terminal_text(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (out.size() >= max_bytes) return out + "...";
    char32_t character = 0;
    const std::size_t bytes = utf8_character(text.substr(i), character);
    if (bytes > 0 && is_plain(character)) {
      out += text.substr(i, bytes);
    } else {
      for (std::size_t j = 0; j < std::max<std::size_t>(bytes, 1); ++j) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}",
                       static_cast<unsigned char>(text[i + j]));
      }
    }
    i += std::max<std::size_t>(bytes, 1);
  }
  return out;
}

}  // namespace bridgemark
