#include "bridgemark/core/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace bridgemark {

namespace {

// The bytes of the character of valid UTF-8 that the text begins with; 0 where there is none.
std::size_t character_bytes(std::string_view text, char32_t& character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) {
    character = first;
    return 1;
  }
  const std::size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < count) return 0;
  character = first & (0xffu >> (count + 1));
  for (std::size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    character = (character << 6) | (byte(i) & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // else written too long
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  return character >= kLeast[count] && character <= 0x10ffff && !surrogate ? count : 0;
}

bool is_plain(char32_t c) {
  const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
  const bool turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return !control && !turns;
}

}  // namespace

std::string terminal_text(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (out.size() >= max_bytes) return out + "...";
    char32_t character = 0;
    const std::size_t bytes = character_bytes(text.substr(i), character);
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
