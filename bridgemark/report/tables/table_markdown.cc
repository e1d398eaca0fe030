#include <fmt/format.h>

#include "bridgemark/report/markup.h"
#include "bridgemark/report/ranking.h"
#include "bridgemark/report/tables/table_writers.h"

namespace bridgemark {

namespace {

std::string cell_markdown(const Table& table, const TableCell& cell) {
  if (!cell.measured()) return cell.missing.empty() ? "" : "–";
  const char* square = "";
  switch (cell.band) {
    case Band::kBad:
      square = "🟥 ";
      break;
    case Band::kMidBad:
      square = "🟧 ";
      break;
    case Band::kMidGood:
      square = "🟨 ";
      break;
    case Band::kGood:
      square = "🟩 ";
      break;
    case Band::kNone:
      break;
  }
  std::string number = table.format_cell(cell);
  if (table.marked_place(cell) == 1) number = fmt::format("**{}**", number);
  if (table.marked_place(cell) == 2) number = fmt::format("<ins>{}</ins>", number);
  if (const std::string mark = group_mark(cell); !mark.empty()) number += " " + mark;
  const std::string error = table.format_error(cell);
  if (!error.empty()) number += " ± " + error;
  const std::string spreads = table.format_spreads(cell);
  if (!spreads.empty()) number += fmt::format(" ({})", spreads);
  if (cell.published) number += fmt::format(" _[{}]_", table.format_published(cell));
  return square + number;
}

constexpr char kNoMarkNote[] = " No best is marked: a coupling that ignores x0 can look best here.";

// Which values are better, and the squares of their bands.
std::string better_text(const ScoreSpec& score) {
  if (!score.is_ranked()) return {};
  const char* worst_first = " Higher is better: 🟥 < {0}, 🟧 < {1}, 🟨 < {2}, 🟩 ≥ {2}.";
  const char* best_first = " Lower is better: 🟩 < {0}, 🟨 < {1}, 🟧 < {2}, 🟥 ≥ {2}.";
  return fmt::format(fmt::runtime(score.lower_is_better() ? best_first : worst_first),
                     score.bounds[0], score.bounds[1], score.bounds[2]) +
         (score.marks_best ? "" : kNoMarkNote);
}

const char* kind_of(const Table& table) {
  if (!table.score->is_ranked()) return " (own metric)";
  return table.in_paper() ? "" : " (not in the paper)";
}

}  // namespace

std::string markdown_tables(const std::vector<Table>& tables, std::string_view title) {
  std::string out = fmt::format(
      "# {}\n\nMade by `bridgemark report`; do not edit. **Best** and <ins>second best</ins> of a "
      "column, the Oracle apart: it is the truth scored as if it were a solver, the ceiling. {} In "
      "brackets the number of the paper; – is a score that the method cannot give. {}\n",
      escape_markdown(title), tie_note(tables), spread_note(tables));
  for (const Table& table : tables) {
    out += fmt::format("\n## {}{}\n\n{}{}\n\n", table.title(), kind_of(table), table.note(),
                       better_text(*table.score));
    std::string header = "| method | loss, N+1 |", rule = "| --- | --- |";
    for (const std::string& pair : table.pairs) {
      header += fmt::format(" {} |", escape_markdown(pair));
      rule += " --- |";
    }
    out += header + "\n" + rule + "\n";
    for (const TableRow& row : table.rows) {
      const std::string method = escape_markdown(row.method);
      out += fmt::format("| {} | {} |", row.oracle ? fmt::format("_{}_", method) : method,
                         escape_markdown(row_details(row)));
      for (const TableCell& cell : row.cells)
        out += fmt::format(" {} |", cell_markdown(table, cell));
      out += "\n";
    }
    if (!has_gaps(table)) continue;
    out += fmt::format("| _{}_ | |", kSmallestGap);
    for (const double gap : table.smallest_gaps) {
      out += fmt::format(" {} |", table.format_gap(gap));
    }
    out += "\n";
  }
  return out;
}

}  // namespace bridgemark
