#pragma once

#include <string>
#include <vector>

#include "bridgemark/core/array.h"

// Rows of states as pictures inside of a page.
namespace bridgemark {

// How categories become colours: from dark to light where they have an order, else by their hue.
struct CategoryColours {
  int num_categories = 2;
  bool ordered = true;

  std::string of(std::int32_t category) const;  // "#rrggbb"
};

// The side of a square image of `dim` pixels; 0 where D is no square, or one below 3 x 3.
std::size_t image_side(std::size_t dim);

// A drawing, a line of cells [lines, columns] each; `cell` is the side of one in pixels.
std::string cells_svg(StatesView cells, const CategoryColours& colours, int cell);

// Row `row` as an image.
std::string image_svg(StatesView rows, std::size_t row, const CategoryColours& colours);

// Row `row` as words, escaped for HTML: with spaces between them unless all are single letters.
std::string words_html(StatesView rows, std::size_t row, const std::vector<std::string>& words);

}  // namespace bridgemark
