#include "bridgemark/report/training_spread.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bridgemark/metric/estimate.h"

namespace bridgemark {

namespace {

constexpr double kMostDegrees = 4.0;

struct Spread {
  const TableCell* cell;
  double degrees_of_freedom;
  double variance;          // of one training
  double squared_distance;  // to the Oracle
};

std::vector<Spread> spreads_of(const Table& table, const TableRow& row, const TableRow& oracle) {
  std::vector<Spread> spreads;
  for (std::size_t column = 0; column < row.cells.size(); ++column) {
    const TableCell& cell = row.cells[column];
    const double distance = cell.mean - oracle.cells[column].mean;  // NaN where one is not measured
    if (cell.runs.size() < 2 || cell.instances > 1 || !std::isfinite(distance)) continue;
    const std::vector<double> values = training_scores(cell, table.score->name);
    const double error = estimate_mean(values).standard_error;
    const auto count = static_cast<double>(values.size());
    spreads.push_back({&cell, count - 1.0, count * error * error, distance * distance});
  }
  return spreads;
}

}  // namespace

std::map<const TableCell*, ExpectedSpread> expected_spreads(const Table& table) {
  std::map<const TableCell*, ExpectedSpread> expected;
  const auto oracle = std::find_if(table.rows.begin(), table.rows.end(),
                                   [](const TableRow& row) { return row.oracle; });
  if (oracle == table.rows.end()) return expected;
  for (const TableRow& row : table.rows) {
    const std::vector<Spread> spreads = spreads_of(table, row, *oracle);
    for (const Spread& own : spreads) {
      double degrees = 0.0, variances = 0.0, distances = 0.0;
      for (const Spread& other : spreads) {
        if (other.cell == own.cell) continue;
        degrees += other.degrees_of_freedom;
        variances += other.degrees_of_freedom * other.variance;
        distances += other.degrees_of_freedom * other.squared_distance;
      }
      const double variance = variances / distances * own.squared_distance;
      if (std::isfinite(variance)) expected[own.cell] = {variance, std::min(degrees, kMostDegrees)};
    }
  }
  return expected;
}

}  // namespace bridgemark
