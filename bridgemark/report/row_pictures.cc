#include "bridgemark/report/row_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bridgemark/core/utf8.h"
#include "bridgemark/report/markup.h"

namespace bridgemark {

namespace {

constexpr std::size_t kLeastSide = 3;
constexpr std::size_t kImagePixels = 84;  // of the side of an image on the page

// Of a hue in [0, 6), at full colour and half light.
std::string hue_text(double hue) {
  const auto part = [&](double shift) {
    const double at = std::fmod(hue + shift, 6.0);
    const double level = std::clamp(std::abs(at - 3.0) - 1.0, 0.0, 1.0);
    return static_cast<int>(std::lround(40.0 + 190.0 * level));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", part(0.0), part(4.0), part(2.0));
}

// Of a word in UTF-8.
bool is_at_most_a_letter(const std::string& word) {
  char32_t letter = 0;
  return word.empty() || utf8_character(word, letter) == word.size();
}

}  // namespace

std::string CategoryColours::of(std::int32_t category) const {
  if (!ordered) return hue_text(6.0 * category / static_cast<double>(num_categories));
  const int level =
      static_cast<int>(std::lround(255.0 * category / std::max(1.0, num_categories - 1.0)));
  return fmt::format("#{0:02x}{0:02x}{0:02x}", level);
}

std::size_t image_side(std::size_t dim) {
  const auto side = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(dim))));
  return side * side == dim && side >= kLeastSide ? side : 0;
}

// Equal cells beside each other are one rectangle, and the first cell's colour is the ground.
std::string cells_svg(StatesView cells, const CategoryColours& colours, int cell) {
  const auto pixels = [&](std::size_t count) { return count * static_cast<std::size_t>(cell); };
  std::string svg = fmt::format(
      "<svg width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" shape-rendering=\"crispEdges\" "
      "role=\"img\">",
      pixels(cells.cols), pixels(cells.rows), cells.cols, cells.rows);
  const std::int32_t ground = cells.size() > 0 ? cells(0, 0) : 0;
  svg += fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"{}\"/>", cells.cols, cells.rows,
                     colours.of(ground));
  for (std::size_t y = 0; y < cells.rows; ++y) {
    for (std::size_t x = 0, end = 0; x < cells.cols; x = end) {
      const std::int32_t category = cells(y, x);
      for (end = x + 1; end < cells.cols && cells(y, end) == category;) ++end;
      if (category == ground) continue;
      svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"1\" fill=\"{}\"/>", x, y,
                         end - x, colours.of(category));
    }
  }
  return svg + "</svg>";
}

std::string image_svg(StatesView rows, std::size_t row, const CategoryColours& colours) {
  const std::size_t side = image_side(rows.cols);
  return cells_svg({rows.row(row), side, side}, colours,
                   static_cast<int>(std::max<std::size_t>(1, kImagePixels / side)));
}

std::string words_html(StatesView rows, std::size_t row, const std::vector<std::string>& words) {
  const bool letters = std::ranges::all_of(words, is_at_most_a_letter);
  std::string text;
  for (std::size_t d = 0; d < rows.cols; ++d) {
    if (d > 0 && !letters) text += ' ';
    text += words.at(static_cast<std::size_t>(rows(row, d)));
  }
  return escape_html(text);
}

}  // namespace bridgemark
