#include "bridgemark/report/tables/text_grid.h"

#include <algorithm>
#include <string_view>

#include "bridgemark/io/printable.h"

namespace bridgemark {

namespace {

// Characters as a terminal counts them: UTF-8 continuation bytes take no place.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::vector<std::string> grid_lines(const std::vector<GridLine>& lines,
                                    const std::vector<bool>& right) {
  std::vector<std::size_t> widths;
  for (const GridLine& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], width(terminal_text(line[i].text)));
    }
  }
  std::vector<std::string> out;
  for (const GridLine& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string content = terminal_text(line[i].text);
      const std::string& code = line[i].code;
      const std::string space(widths[i] - width(content), ' ');
      const std::string padded = i < right.size() && right[i] ? space + content : content + space;
      if (i > 0) text += "  ";
      text += code.empty() ? padded : code + padded + "\x1b[0m";
    }
    out.push_back(text.substr(0, text.find_last_not_of(' ') + 1));
  }
  return out;
}

}  // namespace bridgemark
