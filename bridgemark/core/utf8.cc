#include "bridgemark/core/utf8.h"

#include <algorithm>
#include <iterator>

namespace bridgemark {

namespace {

struct CodeRange {
  char32_t first, last;
};

constexpr CodeRange kInvisible[] = {
    {0xad, 0xad},       {0x300, 0x36f},   {0x61c, 0x61c},   {0x115f, 0x1160}, {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e},
    {0x2060, 0x206f},   {0x20d0, 0x20ff}, {0x2800, 0x2800}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f},   {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
};

}  // namespace

std::size_t utf8_character(std::string_view text, char32_t& character) {
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

bool is_invisible(char32_t character) {
  return std::any_of(std::begin(kInvisible), std::end(kInvisible), [&](const CodeRange& range) {
    return character >= range.first && character <= range.last;
  });
}

}  // namespace bridgemark
