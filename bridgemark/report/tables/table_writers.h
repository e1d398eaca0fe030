#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/report/tables/tables.h"

// Tables as text. Each form shows the groups of ties and the smallest gap that was told apart,
// marks best and second best, shows the standard error and, beside a measured cell, the number of
// the paper where there is one.
namespace bridgemark {

// For a terminal, four columns at a time and the rows that have something there; colours by escape
// codes where `colour` is set.
std::string text_table(const Table& table, bool colour);

// Who is best on each pair, for a terminal: of a tie the first two and how many more.
std::string text_best(const std::vector<PairBest>& pairs);

std::string markdown_tables(const std::vector<Table>& tables, std::string_view title);

// To be read by \input; the packages it needs are named in its first lines.
std::string latex_tables(const std::vector<Table>& tables);

// One line for each measured cell, with the runs it comes from.
std::string csv_tables(const std::vector<Table>& tables);

// "KL" for kl: how tables and the paper spell a loss.
std::string upper_case(std::string text);

// "KL, 64 steps", the part of a row's name that follows the method; empty where there is none.
std::string row_details(const TableRow& row);

// What the line of a table's smallest gaps is called, and whether it has one.
inline constexpr char kSmallestGap[] = "smallest gap";
bool has_gaps(const Table& table);

// What the error after ± is over, in words, for a set of tables.
std::string spread_note(const std::vector<Table>& tables);

}  // namespace bridgemark
