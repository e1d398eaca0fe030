#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bridgemark/report/ranking.h"
#include "bridgemark/report/tables/table_writers.h"
#include "bridgemark/report/tables/text_grid.h"

namespace bridgemark {

namespace {

constexpr std::size_t kColumnsAtATime = 4;

// The group is written beside the number, so that it survives where there are no colours.
std::string cell_text(const Table& table, const TableCell& cell) {
  if (!cell.measured()) return cell.missing.empty() ? "" : "–";
  std::string text = table.format_cell(cell);
  if (const std::string mark = group_mark(cell); !mark.empty()) text += " " + mark;
  const std::string error = table.format_error(cell);
  if (!error.empty()) text += " ±" + error;
  const std::string spreads = table.format_spreads(cell);
  if (!spreads.empty()) text += fmt::format(" ({})", spreads);
  if (cell.published) text += fmt::format(" [{}]", table.format_published(cell));
  return text;
}

std::string colour_code(const Table& table, const TableCell& cell) {
  std::string code;
  switch (cell.band) {  // the paper's four hues, dark text on them
    case Band::kBad:
      code = "\x1b[30;48;5;209m";
      break;
    case Band::kMidBad:
      code = "\x1b[30;48;5;215m";
      break;
    case Band::kMidGood:
      code = "\x1b[30;48;5;228m";
      break;
    case Band::kGood:
      code = "\x1b[30;48;5;115m";
      break;
    case Band::kNone:
      break;
  }
  if (table.marked_place(cell) == 1) code += "\x1b[1m";
  if (table.marked_place(cell) == 2) code += "\x1b[4m";
  return code;
}

}  // namespace

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

std::string row_details(const TableRow& row) {
  const std::string loss = upper_case(row.loss);
  if (row.num_steps.empty()) return loss;
  return (loss.empty() ? "" : loss + ", ") + row.num_steps + " steps";
}

bool has_gaps(const Table& table) {
  return std::any_of(table.smallest_gaps.begin(), table.smallest_gaps.end(),
                     [](double gap) { return !std::isnan(gap); });
}

std::string spread_note(const std::vector<Table>& tables) {
  std::size_t most = 0, evaluations = 0, instances = 1;
  for (const Table& table : tables) {
    for (const TableRow& row : table.rows) {
      for (const TableCell& cell : row.cells) {
        most = std::max(most, cell.runs.size());
        instances = std::max(instances, cell.instances);
        for (const RunResult* run : cell.runs) {
          evaluations = std::max(evaluations, static_cast<std::size_t>(run->evaluation_seeds));
        }
      }
    }
  }
  std::string note = fmt::format(
      "Mean ± standard error: over the runs of a cell, one a seed (at most {}); for a single run "
      "over its {} evaluation seed{}, for the joint KL over the test set; none where nothing was "
      "drawn "
      "anew.",
      most, evaluations, evaluations == 1 ? "" : "s");
  if (has_training_sets(tables)) {
    note +=
        " Where solvers were trained on n rows of several training sets, a cell is the mean over "
        "the "
        "sets, ± over them.";
  }
  if (instances > 1) {
    note += fmt::format(
        " A cell of several instances of its pair (at most {}) is the mean over them, ± over them, "
        "and has in brackets two standard deviations: over instances, without what the training "
        "seeds explain, and over the training seeds of an instance.",
        instances);
  }
  return note;
}

std::string text_best(const std::vector<PairBest>& pairs) {
  std::vector<GridLine> grid = {{{"Best on each pair"}, {}, {"value"}, {"Oracle"}, {"by"}}};
  for (const PairBest& best : pairs) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(best.rows.size(), 2); ++i) {
      names += (i > 0 ? ", " : "") + best.rows[i]->method;
      const std::string details = row_details(*best.rows[i]);
      if (!details.empty()) names += fmt::format(" ({})", details);
    }
    if (best.rows.size() > 2) names += fmt::format(" and {} more", best.rows.size() - 2);
    std::string by = best.table->short_title();  // the pair's name has the direction
    if (!best.ahead_by_draws.empty()) {
      const TableRow& other = *best.ahead_by_draws[0];
      const std::string details = row_details(other);
      by += fmt::format("; {}{} is ahead by draws", other.method,
                        details.empty() ? "" : fmt::format(" ({})", details));
    }
    grid.push_back({{best.pair},
                    {names},
                    {best.table->format_cell(best.rows[0]->cells[best.column])},
                    {oracle_beside(best)},
                    {by}});
  }
  return fmt::format("{}\n", fmt::join(grid_lines(grid), "\n"));
}

std::string text_table(const Table& table, bool colour) {
  const ScoreSpec& score = *table.score;
  const char* better = score.lower_is_better() ? "lower is better" : "higher is better";
  std::string out =
      fmt::format("{} ({})\n", table.title(), score.is_ranked() ? better : "own metric");
  for (std::size_t first = 0; first < table.pairs.size(); first += kColumnsAtATime) {
    const std::size_t last = std::min(table.pairs.size(), first + kColumnsAtATime);
    std::vector<GridLine> grid = {GridLine(2)};  // above method and details: nothing
    for (std::size_t j = first; j < last; ++j) grid[0].push_back({table.pairs[j]});
    for (const TableRow& row : table.rows) {
      GridLine& line = grid.emplace_back(GridLine{{row.method}, {row_details(row)}});
      for (std::size_t j = first; j < last; ++j) {
        line.push_back(
            {cell_text(table, row.cells[j]), colour ? colour_code(table, row.cells[j]) : ""});
      }
    }
    GridLine& gaps = grid.emplace_back(GridLine{{kSmallestGap}, {}});
    for (std::size_t j = first; j < last; ++j) {
      gaps.push_back({table.format_gap(table.smallest_gaps[j])});
    }
    const std::vector<std::string> lines = grid_lines(grid);
    out += "  " + lines[0] + "\n";
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const auto cells = table.rows[i].cells.begin();
      const bool blank = std::none_of(cells + static_cast<std::ptrdiff_t>(first),
                                      cells + static_cast<std::ptrdiff_t>(last),
                                      [](const TableCell& cell) { return cell.measured(); });
      if (!blank) out += "  " + lines[i + 1] + "\n";
    }
    if (has_gaps(table)) out += "  " + lines.back() + "\n";
  }
  return out;
}

}  // namespace bridgemark
