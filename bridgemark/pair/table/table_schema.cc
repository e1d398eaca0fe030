#include "bridgemark/pair/table/table_schema.h"

#include <algorithm>
#include <utility>

#include "bridgemark/core/error.h"

namespace bridgemark {

ColumnReference TableSchema::reference() const {
  std::vector<ReferenceProcess> processes;
  for (const TableColumn& column : columns) {
    try {
      processes.push_back(column.reference(total_steps));
    } catch (const InvalidArgument& error) {
      throw_invalid("columns", "column '{}': {}", column.name, error.what());
    }
  }
  return ColumnReference(std::move(processes));
}

States TableSchema::encode(const CsvTable& table) const {
  States states(table.rows.size(), columns.size());
  for (std::size_t d = 0; d < columns.size(); ++d) {
    const std::size_t place = table.column(columns[d].name);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const CsvField& field = table.rows[i][place];
      const std::optional<std::int32_t> category = columns[d].category_of(field);
      if (!category) {
        throw_file(table.file, "line {}: column '{}' must hold {}, got {}", table.lines[i],
                   columns[d].name, columns[d].allowed(),
                   field.is_missing() ? "nothing" : "'" + field.text + "'");
      }
      states(i, d) = *category;
    }
  }
  return states;
}

bool same_categories(const TableSchema& a, const TableSchema& b) {
  return std::ranges::equal(a.columns, b.columns, [](const auto& left, const auto& right) {
    return left.name == right.name && left.values == right.values && left.edges == right.edges &&
           left.levels == right.levels && left.has_missing == right.has_missing;
  });
}

CsvTable TableSchema::decode(StatesView states, std::string file) const {
  CsvTable table{std::move(file), {}, {}, {}};
  for (const TableColumn& column : columns) table.names.push_back(column.name);
  for (std::size_t i = 0; i < states.rows; ++i) {
    std::vector<CsvField> row;
    for (std::size_t d = 0; d < columns.size(); ++d) {
      row.push_back(columns[d].field_of(states(i, d)));
    }
    table.rows.push_back(std::move(row));
    table.lines.push_back(i + 2);
  }
  return table;
}

}  // namespace bridgemark
