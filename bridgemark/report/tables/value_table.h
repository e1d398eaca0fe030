#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace bridgemark {

// Nothing, text, a whole number or a score.
using TableValue = std::variant<std::monostate, std::string, std::int64_t, double>;

// Rows of values under named columns, for tables that a user puts together. Each row has a value
// for each column. Columns with a number in them are aligned to the right.
struct ValueTable {
  std::vector<std::string> columns;
  std::vector<std::vector<TableValue>> rows;
};

// For people: scores as score_text writes them, "-" for nothing. Text and HTML show the ends of a
// table of more than kShownRows rows.
inline constexpr std::size_t kShownRows = 40;
std::string text_form(const ValueTable& table);
std::string html_form(const ValueTable& table);
std::string markdown_form(const ValueTable& table);
std::string latex_form(const ValueTable& table);  // a tabular; needs the package booktabs

// For programs: numbers in full, empty for nothing.
std::string csv_form(const ValueTable& table);

}  // namespace bridgemark
