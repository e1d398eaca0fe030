#include "bridgemark/io/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace bridgemark {

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (const char c : text.substr(0, max_bytes)) {
    if (c >= 0x20 && c < 0x7f) {
      out.push_back(c);
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > max_bytes) out += "...";
  return out;
}

bool is_one_line(std::string_view text, std::size_t max_bytes) {
  return !text.empty() && text.size() <= max_bytes && std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

}  // namespace bridgemark
