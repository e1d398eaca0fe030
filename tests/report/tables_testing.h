#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "bridgemark/report/tables/tables.h"
#include "tests/experiment/results_testing.h"

namespace bridgemark::testing {

// A run with a conditional shape score alone.
inline RunResult shape(const std::string& pair, const std::string& solver, std::uint64_t seed,
                       double value, double error = kNaN, const std::string& loss = "",
                       const std::string& num_steps = "") {
  return result(pair, solver, seed, {{"conditional_shape_score", value, error, {value}}}, loss,
                num_steps);
}

// The row of a method, which must be there.
inline const TableRow& find_row(const Table& table, const std::string& method,
                                const std::string& details = "") {
  for (const TableRow& row : table.rows) {
    if (row.method == method && row_details(row) == details) return row;
  }
  ADD_FAILURE() << method << " " << details;
  return table.rows.at(0);
}

}  // namespace bridgemark::testing
