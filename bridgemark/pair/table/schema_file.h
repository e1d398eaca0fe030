#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/pair/table/table_schema.h"

// columns.toml: the columns of a table that are used, one [[column]] each. A user writes as much of
// it as is to be fixed, name alone at the least; a run keeps the whole.
//   name = "age"       that of the table
//   kind = "ordered"   or "unordered", "count", "binary"
//   bins = 32          of numbers, at the most
//   values = ["a", …]  texts, in their order where they have one
//   edges, levels      of bins, as numbers; levels are what they are written as
//   missing = true     whether a field may be empty
//   gamma = 0.1        of the column's reference
// Beside the columns, `steps` is the number of elementary steps of their references.
namespace bridgemark {

struct ColumnsAsked {
  std::vector<ColumnRequest> columns;
  std::optional<int> total_steps = {};  // `steps` of the file
};

// Throws FileError with the line of what a columns file may not hold.
ColumnsAsked parse_columns(std::string_view text, const std::string& file);

// The same of a file; the word auto stands for no file: every column of the table.
ColumnsAsked load_columns(const std::string& file, const CsvTable& table);

// The columns of a run, in full, and what is written of them.
std::string schema_text(const TableSchema& schema);
TableSchema parse_schema(std::string_view text, const std::string& file);
TableSchema load_schema(const std::filesystem::path& path);

}  // namespace bridgemark
