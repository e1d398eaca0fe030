#pragma once

#include <string>

#include "bridgemark/core/array.h"
#include "bridgemark/pair/table/table_schema.h"

// Rows of a table as they are read, inside of a page: a line a row, a cell a column.
namespace bridgemark {

std::string row_table_html(const TableSchema& schema, StatesView rows);

// Row i of x1 belongs to row i of x0: a cell that changes shows both.
std::string row_change_table_html(const TableSchema& schema, StatesView x0, StatesView x1);

}  // namespace bridgemark
