#include "bridgemark/metric/record/score_list.h"

#include <fmt/format.h>

#include <cmath>

#include "bridgemark/core/terminal_text.h"
#include "bridgemark/metric/record/score_text.h"

namespace bridgemark {

std::string score_list(std::string_view label, std::string_view pair, int num_seeds,
                       std::span<const Score> scores) {
  std::string out = fmt::format("{} on {} ({} seed{})", terminal_text(label), terminal_text(pair),
                                num_seeds, num_seeds == 1 ? "" : "s");
  for (const Score& score : scores) {
    const bool given = !std::isnan(score.mean);
    out += fmt::format("\n  {:<32} {:>10}", score.name, given ? score_text(score.mean) : "-");
    if (!score.missing.empty()) {
      out += "  " + terminal_text(score.missing);
    } else if (given && !std::isnan(score.standard_error)) {
      out += " ± " + error_text(score.standard_error, score.mean);
    }
  }
  return out;
}

}  // namespace bridgemark
