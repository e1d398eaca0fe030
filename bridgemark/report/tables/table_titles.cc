#include <fmt/format.h>

#include "bridgemark/report/tables/tables.h"

namespace bridgemark {

bool Table::has_forward_twin() const {
  return reversed_pairs && score->table == TablePairs::kForward;
}

bool Table::in_paper() const { return score->in_paper && !has_forward_twin(); }

std::string Table::short_title() const {
  return samples == 0 ? std::string(score->title)
                      : fmt::format("{} at n = {}", score->title, samples);
}

std::string Table::title() const {
  return short_title() + (has_forward_twin() ? ", reversed pairs" : "");
}

std::string Table::note() const {
  std::string text(score->note);
  if (has_forward_twin()) text += " x0 is drawn from p1 and x1 from p0.";
  if (samples > 0) {
    text += fmt::format(
        " Solvers were trained on {} {} a side, unpaired, of training sets of the pair; those that "
        "do not learn from rows are the same at every n.",
        samples, samples == 1 ? "row" : "rows");
  }
  return text;
}

}  // namespace bridgemark
