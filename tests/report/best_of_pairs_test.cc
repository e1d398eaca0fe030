#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bridgemark/report/ranking.h"
#include "bridgemark/report/tables/table_writers.h"
#include "bridgemark/report/tables/tables.h"
#include "tests/experiment/results_testing.h"

namespace bridgemark {
namespace {

using testing::kNaN;
using testing::kPair;
using testing::result;

RunResult scored(const char* solver, double joint, double trend) {
  return result(kPair, solver, 0,
                {{"joint_kl", joint, kNaN, {}},
                 {"conditional_trend_score", trend, kNaN, {}},
                 {"forward_trajectory_kl", 0.1, kNaN, {}},
                 {"exact_conditional_shape_score", 0.9, kNaN, {}}});
}

// "SCORE: the best 2/3": methods that have the score, of all; then who is ahead by draws.
std::string told(const std::vector<RunResult>& results) {
  const std::vector<Table> tables = make_tables(results, false);
  std::string text;
  for (const PairBest& pair : best_of_pairs(tables)) {
    text += fmt::format("{}:", pair.table->score->name);
    for (const TableRow* row : pair.rows) text += " " + row->solver;
    text += fmt::format(" {}/{}", pair.compared, pair.methods);
    for (const TableRow* row : pair.ahead_by_draws) text += " < " + row->solver;
  }
  return text;
}

// The joint KL decides as soon as two methods have it, else the draws; never the Oracle's row.
TEST(BestOfPairs, IsDecidedByTheJointKlOfTwo) {
  const RunResult oracle = scored("oracle", 0.0, 0.95), worse = scored("reference", 0.3, 0.5),
                  better = scored("dlightsb", 0.2, 0.8);
  EXPECT_EQ(told({oracle, worse, better}), "joint_kl: dlightsb 2/2");
  EXPECT_EQ(told({oracle, scored("reference", 0.2, 0.5), better}),
            "joint_kl: reference dlightsb 2/2");
  EXPECT_EQ(told({oracle, better, scored("csbm", kNaN, 0.7)}),
            "conditional_trend_score: dlightsb 2/2");
  EXPECT_EQ(told({oracle, scored("independent", kNaN, 0.4), scored("csbm", kNaN, 0.7)}),
            "conditional_trend_score: csbm 2/2");
  EXPECT_EQ(told({oracle, better}), "");
}

// However many join by draws alone, and however good they are, the score stays; who is ahead by
// draws is named beside the winner, unless a winner ties with it there.
TEST(BestOfPairs, DrawsAreNamedWhereTheBestHasNoKl) {
  std::vector<RunResult> results = {scored("oracle", 0.0, 0.95), scored("feature-wise", 4.0, 0.7),
                                    scored("dlightsb", 3.0, 0.8)};
  results.push_back(scored("csbm", kNaN, 0.7));
  EXPECT_EQ(told(results), "joint_kl: dlightsb 2/3");
  results.back() = scored("csbm", kNaN, 0.8);
  EXPECT_EQ(told(results), "joint_kl: dlightsb 2/3");
  results.back() = scored("csbm", kNaN, 0.9);
  EXPECT_EQ(told(results), "joint_kl: dlightsb 2/3 < csbm");
  results.push_back(scored("alpha-csbm", kNaN, 0.85));
  results.push_back(scored("independent", kNaN, 0.5));
  EXPECT_EQ(told(results), "joint_kl: dlightsb 2/5 < csbm");
  const std::vector<Table> tables = make_tables(results, false);
  EXPECT_THAT(text_best(best_of_pairs(tables)),
              ::testing::HasSubstr("Joint KL; CSBM is ahead by draws"));
}

// Of two solvers, one with an upper bound of its joint KL: it may be the best, or be told worse
// where the bound has settled; else it has no group, and the draws name it if it is best by those.
TEST(BestOfPairs, UpperBoundsProveNothingWorse) {
  const auto ranks = [](double bound, double change, const char* best_is) {
    std::vector<RunResult> results = {scored("oracle", 0.0, 0.95), scored("dlightsb", 0.2, 0.8),
                                      scored("reference", 5.0, 0.6), scored("csbm", bound, 0.9)};
    for (RunResult& one : results) one.scores[0].standard_error = 0.001;
    results.back().scores[0].bound_change = change;
    EXPECT_EQ(told(results), best_is);
    const std::vector<Table> tables = make_tables(results, false);
    const auto joint =
        std::ranges::find(tables, "joint_kl", [](const Table& table) { return table.score->name; });
    std::string text;
    for (const TableRow& row : joint->rows) {
      if (row.oracle) continue;
      text += fmt::format("{} {} {}; ", row.solver, joint->format_cell(row.cells[0]),
                          group_mark(row.cells[0]));
    }
    return text;
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(ranks(0.1, 0.5, "joint_kl: csbm 3/3"), HasSubstr("csbm ≤ 0.100 a; "));
  EXPECT_THAT(ranks(0.5, 0.01, "joint_kl: dlightsb 3/3"), HasSubstr("csbm ≤ 0.500 b; "));
  const std::string open = ranks(0.5, 0.1, "joint_kl: dlightsb 2/3 < csbm");
  EXPECT_THAT(open, HasSubstr("csbm ≤ 0.500 ?; "));
  EXPECT_THAT(open, HasSubstr("reference 5.00 b; "));
}

// A pair of the Oracle alone has no best.
TEST(BestOfPairs, IsNeverTheOracle) {
  const std::vector<Table> tables = make_tables(
      {result(kPair, "oracle", 0, {{"conditional_trend_score", 0.95, kNaN, {}}})}, false);
  EXPECT_THAT(best_of_pairs(tables), ::testing::IsEmpty());
}

// For a terminal: of a tie two and how many more, the Oracle's value, and the score without the
// word that the pair's name has already.
TEST(BestOfPairs, AsTextNamesTwoOfATie) {
  std::vector<RunResult> results;
  for (const char* solver : {"oracle", "reference", "feature-wise", "dlightsb", "independent"}) {
    const double value = solver == std::string("oracle") ? 0.95 : 0.8;
    results.push_back(result(kPair, solver, 0, {{"conditional_trend_score", value, kNaN, {}}}));
    results.push_back(result(std::string(kPair) + "-reverse", solver, 0,
                             {{"conditional_trend_score", value, kNaN, {}}}));
  }
  const std::vector<Table> tables = make_tables(results, false);
  const std::string line =
      "Independent, Reference and 2 more  0.800  0.950   Conditional trend score\n";
  EXPECT_THAT(text_best(best_of_pairs(tables)),
              ::testing::EndsWith("value  Oracle  by\n"
                                  "d2-gaussian-0.02-spread          " +
                                  line + "d2-gaussian-0.02-spread-reverse  " + line));
}

}  // namespace
}  // namespace bridgemark
