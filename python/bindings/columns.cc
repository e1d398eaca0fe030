#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/csv.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/metric/own_data/comparison_json.h"
#include "bridgemark/metric/own_data/comparison_text.h"
#include "bridgemark/pair/table/schema_file.h"
#include "bridgemark/report/data_page.h"
#include "bridgemark/solver/core/diagnostics_json.h"
#include "bridgemark/solver/table/table_run.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/results.h"

namespace nb = nanobind;
using namespace nb::literals;

// Tables come and go as the text of a .csv file, columns as that of a columns file: Python turns
// frames into the one and knows nothing of the other.
namespace bridgemark::python {

namespace {

std::string fit_columns(const std::string& columns, const std::string& x0, const std::string& x1,
                        const WholeNumber& total_steps) {
  const CsvTable first = parse_csv(x0, "x0"), second = parse_csv(x1, "x1");
  const ColumnsAsked asked =
      columns.empty() ? ColumnsAsked{requests_for_all(first)} : parse_columns(columns, "columns");
  const int steps = asked.total_steps ? *asked.total_steps : total_steps.to_int("total_steps");
  return schema_text(interruptible([&](const Context& context) {
    return fit_schema(context, asked.columns, first, second, steps);
  }));
}

TableRun train_columns(const std::string& columns, const std::string& x0, const std::string& x1,
                       const std::map<std::string, std::string>& options, const Seed& seed,
                       const std::optional<std::filesystem::path>& folder, bool resume,
                       nb::handle progress) {
  const TableSchema schema = parse_schema(columns, "columns");
  const States from = schema.encode(parse_csv(x0, "x0")), to = schema.encode(parse_csv(x1, "x1"));
  const TableRequest request{seed.draw(), {options.begin(), options.end()}};
  return interruptible(
      [&](const Context& context) {
        return train_table(context, request, schema, from, to, folder.value_or(""), resume);
      },
      progress);
}

std::string sample_columns(const TableRun& run, const std::string& x0, const Seed& seed) {
  const States given = run.schema.encode(parse_csv(x0, "x0"));
  States drawn(given.rows(), given.cols());
  const DrawKey key{seed.draw(), DrawPurpose::kConditional};
  interruptible([&](const Context& context) {
    run.bridge->sample(context, given, key, 0, drawn);
    return 0;
  });
  return csv_text(run.schema.decode(drawn, "x1"));
}

std::vector<double> log_conditional(const TableRun& run, const std::string& x0,
                                    const std::string& x1) {
  const States from = run.schema.encode(parse_csv(x0, "x0")),
               to = run.schema.encode(parse_csv(x1, "x1"));
  std::vector<double> out(from.rows());
  interruptible([&](const Context& context) {
    run.bridge->log_conditional(context, from, to, out);
    return 0;
  });
  return out;
}

nb::tuple compare_columns(const nb::list& runs, const std::vector<std::string>& names,
                          const std::string& x0, const std::string& x1, const Seed& seed,
                          nb::handle progress, const std::optional<std::filesystem::path>& report) {
  if (report) check_page_file(*report);
  std::vector<DataContestant> contestants;
  const auto& first = nb::cast<const TableRun&>(runs[0]);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& run = nb::cast<const TableRun&>(runs[i]);
    if (!same_categories(first.schema, run.schema)) {
      throw_invalid("compare_on",
                    "solvers must have the same columns and categories, got others "
                    "in {} and {}; fit both with one Columns",
                    names[0], names[i]);
    }
    contestants.push_back(table_contestant(names[i], run));
  }
  const States from = first.schema.encode(parse_csv(x0, "x0")),
               to = first.schema.encode(parse_csv(x1, "x1"));
  const DataComparisonOptions options{seed.draw()};
  const DataComparisonRecord record = interruptible(
      [&](const Context& context) {
        return record_comparison(
            context, [&] { return compare_on(context, from, to, contestants, options); });
      },
      progress);
  if (report) {
    write_file_atomically(*report, data_page(record.comparison, from, to, {.table = first.schema}));
  }
  nb::list order;
  for (const DataScoreSpec& spec : data_score_specs()) order.append(std::string(spec.name));
  return nb::make_tuple(to_python(record.record()), comparison_text(record.comparison), order);
}

}  // namespace

void init_columns(nb::module_& module) {
  nb::class_<TableRun>(module, "TableRun",
                       "A bridge over the columns of a table: what bridgemark.TableBridge wraps.")
      .def_prop_ro(
          "columns", [](const TableRun& run) { return schema_text(run.schema); },
          "The text of the columns file.")
      .def_prop_ro(
          "diagnostics",
          [](const TableRun& run) { return to_python(diagnostics_json(run.diagnostics)); },
          nb::sig("def diagnostics(self) -> dict[str, typing.Any]"),
          "What the training says of itself.")
      .def(
          "sample", sample_columns, "x0"_a, nb::kw_only(), "seed"_a.none(),
          nb::sig("def sample(self, x0: str, *, seed: int | numpy.random.Generator | None) -> str"),
          "A draw of x1 for each row of a table, as the text of a .csv file.")
      .def("log_conditional", log_conditional, "x0"_a, "x1"_a,
           "log q(x1 | x0) of each row of two tables.");
  module.def("fit_columns", fit_columns, "columns"_a, "x0"_a, "x1"_a, "total_steps"_a,
             nb::sig("def fit_columns(columns: str, x0: str, x1: str, total_steps: int) -> str"),
             "The whole text of a columns file for two tables; an empty one asks for all columns.");
  module.def(
      "train_columns", train_columns, "columns"_a, "x0"_a, "x1"_a, "options"_a, nb::kw_only(),
      "seed"_a.none(), "folder"_a.none(), "resume"_a, "progress"_a.none(),
      nb::sig("def train_columns(columns: str, x0: str, x1: str, options: dict[str, str], *, seed: "
              "int | numpy.random.Generator | None, folder: str | os.PathLike[str] | None, resume: "
              "bool, progress: collections.abc.Callable[[str, int, int, str], object] | None) -> "
              "TableRun"),
      "A bridge between two tables, what bridgemark.Columns.fit wraps.");
  module.def("load_table_run", load_table_run, "folder"_a,
             nb::sig("def load_table_run(folder: str | os.PathLike[str]) -> TableRun"),
             "A run of train --columns.");
  module.def(
      "compare_columns", compare_columns, "runs"_a, "names"_a, "x0"_a, "x1"_a, nb::kw_only(),
      "seed"_a.none(), "progress"_a.none(), "report"_a.none(),
      nb::sig("def compare_columns(runs: list[TableRun], names: list[str], x0: str, x1: str, *, "
              "seed: int | numpy.random.Generator | None, progress: "
              "collections.abc.Callable[[str, int, int, str], object] | None, report: str | "
              "os.PathLike[str] | None) -> tuple[dict[str, typing.Any], str, list[str]]"),
      "What bridgemark.TableBridge.compare_on wraps.");
}

}  // namespace bridgemark::python
