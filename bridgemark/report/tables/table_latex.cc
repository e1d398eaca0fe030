#include <fmt/format.h>

#include "bridgemark/report/markup.h"
#include "bridgemark/report/ranking.h"
#include "bridgemark/report/tables/table_writers.h"

namespace bridgemark {

namespace {

constexpr char kPreamble[] =
    "% Made by bridgemark report; do not edit. Read it with \\input. Needs:\n"
    "%   \\usepackage{booktabs}\n"
    "%   \\usepackage[table]{xcolor}\n"
    "%   \\usepackage{graphicx}\n"
    "\\definecolor{scorebad}{HTML}{D55E00}\n"
    "\\definecolor{scoremidbad}{HTML}{E69F00}\n"
    "\\definecolor{scoremidgood}{HTML}{F0E442}\n"
    "\\definecolor{scoregood}{HTML}{009E73}\n";

std::string colour_of(Band band) {
  std::string name;
  for (const char c : band_name(band)) {
    if (c != '-') name += c;
  }
  return name.empty() ? name : fmt::format("\\cellcolor{{score{}!45}}", name);
}

std::string cell_latex(const Table& table, const TableCell& cell) {
  if (!cell.measured()) return cell.missing.empty() ? "" : "--";
  std::string number = latex_number(table.format(cell.mean));
  if (cell.bound_change) number = "$\\leq$ " + number;
  if (table.marked_place(cell) == 1) number = fmt::format("\\textbf{{{}}}", number);
  if (table.marked_place(cell) == 2) number = fmt::format("\\underline{{{}}}", number);
  if (const std::string mark = group_mark(cell); !mark.empty()) {
    number += fmt::format("$^{{{}}}$", mark);
  }
  const std::string error = table.format_error(cell);
  if (!error.empty()) number += fmt::format("{{\\tiny$\\pm${}}}", error);
  const std::string spreads = table.format_spreads(cell);
  if (!spreads.empty()) number += fmt::format(" {{\\tiny({})}}", spreads);
  if (cell.published) number += fmt::format(" {{\\tiny[{}]}}", table.format_published(cell));
  return colour_of(cell.band) + number;
}

// Rows between two rules: the Oracle, the baselines, each solver.
std::string group_of(const TableRow& row) {
  for (const char* baseline : {"independent", "reference", "feature-wise", "sinkhorn"}) {
    if (row.solver == baseline) return "baselines";
  }
  return row.solver;
}

std::string caption(const Table& table) {
  const ScoreSpec& score = *table.score;
  if (!score.is_ranked()) {
    return fmt::format("{}. {}", escape_latex(table.title()), escape_latex(table.note()));
  }
  const char* bands = score.lower_is_better()
                          ? "bluish-green below {0}, yellow below {1}, orange below {2}, else "
                            "vermillion"
                          : "vermillion below {0}, orange below {1}, yellow below {2}, else "
                            "bluish-green";
  return fmt::format(
      "{} (${}$). {}{} {} In brackets the published value; the Oracle is the ceiling. Colours: {}.",
      escape_latex(table.title()), score.lower_is_better() ? "\\downarrow" : "\\uparrow",
      escape_latex(table.note()), score.marks_best ? " Bold is best, underlined second." : "",
      escape_latex(tie_note({table})),
      fmt::format(fmt::runtime(bands), score.bounds[0], score.bounds[1], score.bounds[2]));
}

}  // namespace

std::string latex_tables(const std::vector<Table>& tables) {
  std::string out = kPreamble;
  for (const Table& table : tables) {
    out += fmt::format(
        "\n\\begin{{table*}}\n  \\centering\n  \\resizebox{{\\textwidth}}{{!}}{{%\n"
        "  \\begin{{tabular}}{{rcc{}}}\n    \\toprule\n    Method & Loss & $N+1$",
        std::string(table.pairs.size(), 'c'));
    for (const std::string& pair : table.pairs) out += fmt::format(" & {}", escape_latex(pair));
    out += " \\\\\n    \\midrule\n";
    std::string group;
    for (const TableRow& row : table.rows) {
      if (!group.empty() && group_of(row) != group) out += "    \\midrule\n";
      group = group_of(row);
      const std::string method = escape_latex(row.method);
      const std::string loss = row.loss.empty() ? "--" : upper_case(row.loss);
      out += fmt::format(
          "    {} & {} & {}", row.oracle ? fmt::format("\\textit{{{}}}", method) : method,
          escape_latex(loss), row.num_steps.empty() ? "--" : escape_latex(row.num_steps));
      for (const TableCell& cell : row.cells) out += fmt::format(" & {}", cell_latex(table, cell));
      out += " \\\\\n";
    }
    if (has_gaps(table)) {
      out += fmt::format("    \\midrule\n    \\textit{{{}}} & -- & --", kSmallestGap);
      for (const double gap : table.smallest_gaps) {
        out += fmt::format(" & {}", latex_number(table.format_gap(gap)));
      }
      out += " \\\\\n";
    }
    out += fmt::format(
        "    \\bottomrule\n  \\end{{tabular}}}}\n  \\caption{{{}}}\n"
        "  \\label{{table:{}{}}}\n\\end{{table*}}\n",
        caption(table), table.score->name, table.has_forward_twin() ? "_reversed" : "");
  }
  return out;
}

}  // namespace bridgemark
