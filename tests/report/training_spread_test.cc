#include "bridgemark/report/training_spread.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bridgemark/report/tables/tables.h"
#include "tests/experiment/results_testing.h"

namespace bridgemark {
namespace {

using testing::kNaN;
using testing::normal;
using testing::result;

std::vector<std::string> pairs() {
  std::vector<std::string> names;
  for (const char* dim : {"d2-", "d16-"}) {
    for (const char* reference : {"gaussian-0.02", "gaussian-0.05", "uniform-0.005"}) {
      names.push_back(std::string(dim) + reference + "-spread");
    }
  }
  return names;
}

// A training whose KL is `value`, nearly the same on all inputs.
RunResult trained(const std::string& pair, const std::string& solver, std::uint64_t seed,
                  double value) {
  Score score{"forward_trajectory_kl", value, kNaN, {value}};
  score.blocks = {1000, std::vector<double>(40)};
  for (std::size_t b = 0; b < 40; ++b) {
    score.blocks.means[b] = value * (1.0 + 0.01 * normal(seed, b));
  }
  return result(pair, solver, seed, {score});
}

// Two trainings of each of two solvers that spread by a seventh of their KL, whose size is that of
// the pair.
std::vector<RunResult> two_solvers(std::uint64_t trial, double ratio) {
  std::vector<RunResult> results;
  std::uint64_t draw = 0;
  for (const std::string& pair : pairs()) {
    const double size = 0.05 * static_cast<double>(1 + draw);
    results.push_back(trained(pair, "oracle", 0, 0.0));
    for (const std::uint64_t seed : {0u, 1u}) {
      for (const char* solver : {"csbm", "alpha-csbm"}) {
        const double mean = solver == std::string("csbm") ? size : ratio * size;
        results.push_back(
            trained(pair, solver, seed, mean * std::exp(0.15 * normal(trial, ++draw))));
      }
    }
  }
  return results;
}

// Of the columns of 100 such tables: where the two are not in one group of ties.
double share_separated(double ratio) {
  int separated = 0, columns = 0;
  for (std::uint64_t trial = 0; trial < 100; ++trial) {
    const std::vector<RunResult> results = two_solvers(trial, ratio);
    for (const Table& table : make_tables(results, false)) {
      for (std::size_t column = 0; column < table.pairs.size(); ++column, ++columns) {
        std::vector<int> ranks;
        for (const TableRow& row : table.rows) {
          if (!row.oracle) ranks.push_back(row.cells[column].rank);
        }
        EXPECT_EQ(ranks.size(), 2u);
        separated += ranks[0] != ranks[1];
      }
    }
  }
  EXPECT_EQ(columns, 600);
  return separated / static_cast<double>(columns);
}

// 600 comparisons of probability 0.05 exceed 50 with probability 1e-4.
TEST(TrainingSpread, EqualSolversAreSeldomSeparated) {
  EXPECT_LE(share_separated(1.0), 50 / 600.0);
}

// Three times as far from the truth, with a spread of a seventh: two trainings tell, where
// Student's t of them alone would call it a tie.
TEST(TrainingSpread, TwoTrainingsTellSolversApart) { EXPECT_GE(share_separated(3.0), 0.95); }

TEST(TrainingSpread, IsThatOfTheOtherColumnsByDistance) {
  std::vector<RunResult> results;
  const std::vector<std::string> names = pairs();
  const std::vector<std::vector<double>> values = {{1.0, 1.2}, {3.0, 3.4}, {10.0, 10.0}, {4.0}};
  for (std::size_t p = 0; p < values.size(); ++p) {
    results.push_back(trained(names[p], "oracle", 0, 0.0));
    for (std::size_t seed = 0; seed < values[p].size(); ++seed) {
      results.push_back(trained(names[p], "csbm", seed, values[p][seed]));
    }
  }
  const std::vector<Table> tables = make_tables(results, false);
  const Table& table = tables.at(0);
  const auto expected = expected_spreads(table);
  EXPECT_EQ(expected.size(), 3u);  // one training says nothing of its spread
  for (const TableRow& row : table.rows) {
    for (std::size_t column = 0; column < row.cells.size(); ++column) {
      const auto found = expected.find(&row.cells[column]);
      if (row.oracle || table.pairs[column] != names[2]) continue;
      // Variances 0.02 and 0.08 at distances 1.1 and 3.2, seen from 10.
      EXPECT_NEAR(found->second.variance, 0.1 / (1.21 + 10.24) * 100.0, 1e-9);
      EXPECT_EQ(found->second.degrees_of_freedom, 2.0);
    }
  }
}

}  // namespace
}  // namespace bridgemark
