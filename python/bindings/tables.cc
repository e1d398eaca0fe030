#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/paired_comparison.h"
#include "bridgemark/metric/record/score_list.h"
#include "bridgemark/report/ranking.h"
#include "bridgemark/report/tables/value_table.h"
#include "python/bindings/bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

// What is no number of the library is shown as Python writes it.
TableValue value_of(nb::handle value) {
  if (value.is_none()) return {};
  if (PyFloat_Check(value.ptr())) return nb::cast<double>(value);
  if (PyLong_CheckExact(value.ptr())) {
    int overflow = 0;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0) return number;
  }
  return std::string(nb::str(value).c_str());
}

using Rows = std::vector<std::vector<nb::object>>;

ValueTable table_of(std::vector<std::string> columns, const Rows& rows) {
  ValueTable table{std::move(columns), {}};
  for (const auto& row : rows) {
    if (row.size() != table.columns.size()) {
      throw_invalid("table", "a row must have {} values, one a column, got {}",
                    table.columns.size(), row.size());
    }
    auto& values = table.rows.emplace_back();
    for (const nb::object& value : row) values.push_back(value_of(value));
  }
  return table;
}

using BlocksOfTrainings = std::vector<std::tuple<std::size_t, std::vector<double>>>;

// Difference and half-width of its interval, or nothing where the blocks are not of the same
// inputs.
std::optional<std::tuple<double, double>> compare_blocks(const BlocksOfTrainings& first,
                                                         const BlocksOfTrainings& second) {
  const auto converted = [](const BlocksOfTrainings& trainings) {
    std::vector<BlockMeans> blocks;
    for (const auto& [rows, means] : trainings) blocks.push_back({rows, means});
    return blocks;
  };
  const auto all = [](const std::vector<BlockMeans>& blocks) {
    Trainings trainings;
    for (const BlockMeans& one : blocks) trainings.push_back(&one);
    return trainings;
  };
  const std::vector<BlockMeans> left = converted(first), right = converted(second);
  const std::optional<Comparison> found = PairedComparer().compare(all(left), all(right));
  if (!found) return {};
  return std::tuple(found->difference, found->half_width);
}

// A row's name, mean, standard error, rows and means of its blocks, and Score::bound_change.
using ComparedRow = std::tuple<std::string, double, std::optional<double>, std::size_t,
                               std::vector<double>, std::optional<double>>;

// The letters of each row in the library's own table of the score on one pair; none where it has no
// such table.
std::vector<std::string> tie_letters(const std::string& score, bool reverse,
                                     const std::vector<ComparedRow>& rows) {
  std::vector<RunResult> results;
  for (const auto& [label, mean, error, inputs, means, bound_change] : rows) {
    RunResult& result = results.emplace_back();
    result.method = label;
    result.solver = label;
    result.pair_identity = {{"reverse", reverse}};
    result.scores = {{score,
                      mean,
                      error.value_or(std::numeric_limits<double>::quiet_NaN()),
                      {mean},
                      {},
                      {inputs, means},
                      bound_change}};
  }
  std::vector<std::string> letters(rows.size());
  for (const Table& table : make_tables(results, false)) {
    for (const TableRow& row : table.rows) {
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (row.method == results[i].method) letters[i] = group_letters(row.cells.at(0).rank);
      }
    }
  }
  return letters;
}

using ScoreTuple = std::tuple<std::string, std::optional<double>, std::optional<double>,
                              std::optional<std::string>>;

std::string list_scores(const std::string& label, const std::string& pair, int num_seeds,
                        const std::vector<ScoreTuple>& scores) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  std::vector<Score> converted;
  for (const auto& [name, mean, error, missing] : scores) {
    converted.push_back(
        {name, mean.value_or(kNaN), error.value_or(kNaN), {}, missing.value_or("")});
  }
  return score_list(label, pair, num_seeds, converted);
}

}  // namespace

void init_tables(nb::module_& module) {
  const auto define = [&](const char* name, std::string (*form)(const ValueTable&),
                          const char* help) {
    module.def(
        name,
        [form](std::vector<std::string> columns, const Rows& rows) {
          return form(table_of(std::move(columns), rows));
        },
        "columns"_a, "rows"_a, help);
  };
  define("table_text", text_form, "Rows of values as aligned text.");
  define("table_html", html_form, "Rows of values as an HTML table.");
  define("table_markdown", markdown_form, "Rows of values as a Markdown table.");
  define("table_latex", latex_form, "Rows of values as a LaTeX tabular.");
  define("table_csv", csv_form, "Rows of values as CSV.");
  module.attr("COMPARISON_CONFIDENCE") = kComparisonConfidence;
  module.def("compare_blocks", compare_blocks, "first"_a, "second"_a,
             "Difference of two methods' means and the half-width of its interval, from the rows "
             "and block means of each training: what bridgemark.paired_difference wraps.");
  module.def("tie_letters", tie_letters, "score"_a, "reverse"_a, "rows"_a,
             "The groups of ties of rows (name, mean, standard error or None, number of inputs, "
             "block means, of an upper bound what half the effort adds, else None) on one pair, by "
             "letters: what bridgemark.compare shows.");
  module.def("score_list", list_scores, "label"_a, "pair"_a, "num_seeds"_a, "scores"_a,
             "Scores (name, mean, standard error, why it is missing) as `bridgemark evaluate`\n"
             "prints them.");
}

}  // namespace bridgemark::python
