#pragma once

#include <string>
#include <vector>

namespace bridgemark {

struct GridCell {
  std::string text;
  std::string code = {};  // escape codes that colour it; empty for none
};

using GridLine = std::vector<GridCell>;

// Cells in columns of equal width, two spaces apart, for a terminal: one string a line, without
// spaces at its end. Columns are aligned to the left but for those that `right` names.
std::vector<std::string> grid_lines(const std::vector<GridLine>& lines,
                                    const std::vector<bool>& right = {});

}  // namespace bridgemark
