#include "bridgemark/report/published.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <charconv>
#include <string>

#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/report/tables/table_writers.h"
#include "python/bindings/bindings.h"

namespace nb = nanobind;

namespace bridgemark::python {

namespace {

nb::object text_or_none(const std::string& text) {
  if (text.empty()) return nb::none();
  return nb::str(text.c_str());
}

nb::object steps_or_none(const std::string& text) {
  if (text.empty()) return nb::none();
  int steps = 0;
  std::from_chars(text.data(), text.data() + text.size(), steps);
  return nb::int_(steps);
}

// A table of its own has the reversed pairs, under the names of the pairs.
std::string pair_of(std::string name) {
  if (name.ends_with(kReverseSuffix)) name.resize(name.size() - kReverseSuffix.size());
  return name;
}

nb::list cells() {
  nb::list rows;
  for (const PublishedCell& cell : published_cells()) {
    nb::dict row;
    row["table"] = cell.table;
    row["method"] = cell.method;
    row["solver"] = cell.solver;
    row["loss"] = text_or_none(upper_case(cell.loss));
    row["steps"] = steps_or_none(cell.num_steps);
    row["pair"] = pair_of(cell.pair);
    row["value"] = cell.value;
    rows.append(row);
  }
  return rows;
}

}  // namespace

void init_published(nb::module_& module) {
  module.def("published_cells", cells,
             nb::sig("def published_cells() -> list[dict[str, typing.Any]]"),
             "The cells of the paper's tables: what bridgemark.paper_results selects from.");
}

}  // namespace bridgemark::python
