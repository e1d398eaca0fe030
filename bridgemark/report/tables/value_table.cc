#include "bridgemark/report/tables/value_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "bridgemark/experiment/csv_field.h"
#include "bridgemark/metric/record/score_text.h"
#include "bridgemark/report/markup.h"
#include "bridgemark/report/tables/text_grid.h"

namespace bridgemark {

namespace {

using Line = std::vector<std::string>;

std::string shown(const TableValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* score = std::get_if<double>(&value)) return score_text(*score);
  return "-";
}

std::string exact(const TableValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return "";
  if (const auto* score = std::get_if<double>(&value)) return csv_number(*score);
  return csv_field(shown(value));
}

bool is_number(const TableValue& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

std::vector<bool> number_columns(const ValueTable& table) {
  std::vector<bool> numbers(table.columns.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::any_of(table.rows.begin(), table.rows.end(),
                             [&](const auto& row) { return is_number(row[i]); });
  }
  return numbers;
}

// A line of cells for each row; of a long table its ends, with dots between them.
std::vector<Line> shown_rows(const ValueTable& table) {
  const std::size_t count = table.rows.size();
  std::vector<Line> lines;
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kShownRows && i == kShownRows / 2) {
      lines.emplace_back(table.columns.size(), "...");
      i = count - kShownRows / 2;
    }
    Line& line = lines.emplace_back();
    for (const TableValue& value : table.rows[i]) line.push_back(shown(value));
  }
  return lines;
}

template <typename Write>
Line each(const auto& cells, Write&& write) {
  Line line;
  for (const auto& cell : cells) line.push_back(write(cell));
  return line;
}

}  // namespace

std::string text_form(const ValueTable& table) {
  const auto as_cells = [](const Line& line) {
    GridLine cells;
    for (const std::string& text : line) cells.push_back({text});
    return cells;
  };
  std::vector<GridLine> grid = {as_cells(table.columns)};
  for (const Line& line : shown_rows(table)) grid.push_back(as_cells(line));
  std::vector<std::string> lines = grid_lines(grid, number_columns(table));
  if (table.rows.size() > kShownRows) lines.push_back(fmt::format("[{} rows]", table.rows.size()));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string html_form(const ValueTable& table) {
  const auto line = [](const Line& cells, const char* tag) {
    std::string out = "<tr>";
    for (const std::string& cell : cells) {
      out += fmt::format("<{0}>{1}</{0}>", tag, escape_html(cell));
    }
    return out + "</tr>";
  };
  std::string out = "<table>" + line(table.columns, "th");
  for (const Line& cells : shown_rows(table)) out += line(cells, "td");
  return out + "</table>";
}

std::string markdown_form(const ValueTable& table) {
  const auto line = [](const Line& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
  };
  const auto rule = [](bool number) { return number ? "---:" : "---"; };
  std::string out = line(each(table.columns, escape_markdown));
  out += line(each(number_columns(table), rule));
  for (const auto& row : table.rows) {
    out += line(each(row, [](const TableValue& value) { return escape_markdown(shown(value)); }));
  }
  return out;
}

std::string latex_form(const ValueTable& table) {
  const auto line = [](const Line& cells) {
    return fmt::format("  {} \\\\\n", fmt::join(cells, " & "));
  };
  std::string columns;
  for (const bool number : number_columns(table)) columns += number ? 'r' : 'l';
  std::string out = fmt::format("\\begin{{tabular}}{{{}}}\n  \\toprule\n", columns);
  out += line(each(table.columns, escape_latex)) + "  \\midrule\n";
  for (const auto& row : table.rows) {
    out += line(each(row, [](const TableValue& value) {
      return is_number(value) ? latex_number(shown(value)) : escape_latex(shown(value));
    }));
  }
  return out + "  \\bottomrule\n\\end{tabular}\n";
}

std::string csv_form(const ValueTable& table) {
  std::string out = fmt::format("{}\n", fmt::join(each(table.columns, csv_field), ","));
  for (const auto& row : table.rows) {
    out += fmt::format("{}\n", fmt::join(each(row, exact), ","));
  }
  return out;
}

}  // namespace bridgemark
