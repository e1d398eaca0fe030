#include "bridgemark/report/row_table.h"

#include <fmt/format.h>

#include <functional>

#include "bridgemark/report/markup.h"

namespace bridgemark {

namespace {

std::string field_html(const TableColumn& column, std::int32_t category) {
  const CsvField field = column.field_of(category);
  return field.is_missing() ? "<span class=\"absent\">missing</span>" : escape_html(field.text);
}

// cell(row, column) is the inside of a cell.
std::string table_html(const TableSchema& schema, std::size_t rows,
                       const std::function<std::string(std::size_t, std::size_t)>& cell) {
  std::string html = "<div class=\"scroll\"><table class=\"rows\"><thead><tr>";
  for (const TableColumn& column : schema.columns) {
    html += "<th>" + escape_html(column.name) + "</th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < rows; ++i) {
    html += "<tr>";
    for (std::size_t d = 0; d < schema.columns.size(); ++d) html += "<td>" + cell(i, d) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string row_table_html(const TableSchema& schema, StatesView rows) {
  return table_html(schema, rows.rows, [&](std::size_t i, std::size_t d) {
    return field_html(schema.columns[d], rows(i, d));
  });
}

std::string row_change_table_html(const TableSchema& schema, StatesView x0, StatesView x1) {
  return table_html(schema, x0.rows, [&](std::size_t i, std::size_t d) {
    const TableColumn& column = schema.columns[d];
    const std::string before = field_html(column, x0(i, d));
    if (x0(i, d) == x1(i, d)) return before;
    return fmt::format("{} <b>→ {}</b>", before, field_html(column, x1(i, d)));
  });
}

}  // namespace bridgemark
