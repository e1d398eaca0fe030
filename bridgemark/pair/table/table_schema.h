#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/io/csv.h"
#include "bridgemark/pair/table/table_column.h"
#include "bridgemark/process/column_reference.h"

namespace bridgemark {

// How tables become states and states tables: the columns that are used, in their order, and the
// number of elementary steps of their references.
struct TableSchema {
  std::vector<TableColumn> columns;
  int total_steps = kDefaultTotalSteps;

  ColumnReference reference() const;

  // Rows as states [n, columns]. Other columns of the table are passed over. Throws FileError with
  // the line and the column of a field that has no category.
  States encode(const CsvTable& table) const;

  // The same back, with the names of the columns; `file` is what messages call the table.
  CsvTable decode(StatesView states, std::string file) const;
};

// Whether both make the same states of a table; their references may differ.
bool same_categories(const TableSchema& a, const TableSchema& b);

// What a user says of a column; the rest is found in the data.
struct ColumnRequest {
  std::string name;
  std::optional<ColumnKind> kind = {};  // else: binary with two values, ordered for numbers
  std::optional<int> bins = {};         // of numbers, at the most; else kDefaultBins
  std::vector<std::string> values = {};
  std::vector<double> edges = {}, levels = {};  // without levels: the medians between the edges
  std::optional<bool> has_missing = {};
  std::optional<double> gamma = {};
};

// A request for each column of a table.
std::vector<ColumnRequest> requests_for_all(const CsvTable& table);

// The schema of two tables: values in alphabetical order, bins of equally many rows, a category for
// missing fields where there are some. Digits that are quoted or padded by 0 are texts. A gamma
// lets the reference lead 0.4 of the way of independent ends, or further, up to 0.8, where the
// column's two distributions lie further apart. Throws InvalidArgument and FileError that name the
// column.
TableSchema fit_schema(const Context& context, const std::vector<ColumnRequest>& requests,
                       const CsvTable& x0, const CsvTable& x1,
                       int total_steps = kDefaultTotalSteps);

}  // namespace bridgemark
