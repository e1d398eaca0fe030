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

// The score that decides: the joint KL, unless more methods have the trajectory KL, else the exact
// conditional shape; never the Oracle's row.
TEST(BestOfPairs, IsDecidedByKlsFirst) {
  const auto scored = [](const char* solver, double joint, double path, double exact) {
    return result(kPair, solver, 0,
                  {{"joint_kl", joint, kNaN, {}},
                   {"forward_trajectory_kl", path, kNaN, {}},
                   {"exact_conditional_shape_score", exact, kNaN, {}},
                   {"shape_score", 0.9, kNaN, {}}});
  };
  const auto best = [](const std::vector<RunResult>& results) {
    const std::vector<Table> tables = make_tables(results, false);
    std::string text;
    for (const PairBest& pair : best_of_pairs(tables)) {
      text += fmt::format("{}:", pair.table->score->name);
      for (const TableRow* row : pair.rows) text += " " + row->solver;
      text += fmt::format(" {}/{}", pair.compared, pair.methods);
    }
    return text;
  };
  EXPECT_EQ(best({scored("oracle", 0.0, 0.0, 1.0), scored("reference", 0.3, 0.1, 0.9),
                  scored("dlightsb", 0.2, 0.4, 0.8)}),
            "joint_kl: dlightsb 2/2");
  EXPECT_EQ(best({scored("reference", 0.3, 0.1, 0.9), scored("dlightsb", 0.2, 0.4, 0.8),
                  scored("csbm", kNaN, 0.2, 0.7)}),
            "forward_trajectory_kl: reference 3/3");
  EXPECT_EQ(best({scored("independent", kNaN, kNaN, 0.4), scored("dlightsb", 0.2, 0.4, 0.8),
                  scored("csbm", kNaN, kNaN, kNaN)}),
            "exact_conditional_shape_score: dlightsb 2/3");
  EXPECT_EQ(best({scored("oracle", 0.0, 0.0, 1.0), scored("reference", 0.2, kNaN, kNaN),
                  scored("dlightsb", 0.2, kNaN, kNaN)}),
            "joint_kl: reference dlightsb 2/2");
  EXPECT_EQ(best({scored("oracle", 0.0, 0.0, 1.0), scored("csbm", 0.1, 0.1, 0.1)}), "");
}

// Reversed pairs: a network has no KL there, and a form that does not fit should not win by having
// one.
TEST(BestOfPairs, DrawsDecideWhereMostHaveNothingElse) {
  const auto scored = [](const char* solver, double joint, double trend) {
    return result(kPair, solver, 0,
                  {{"joint_kl", joint, kNaN, {}}, {"conditional_trend_score", trend, kNaN, {}}});
  };
  const std::vector<RunResult> results = {
      scored("oracle", 0.0, 0.95),      scored("feature-wise", 0.3, 0.7),
      scored("dlightsb", 0.2, 0.8),     scored("csbm", kNaN, 0.9),
      scored("alpha-csbm", kNaN, 0.85), scored("independent", kNaN, 0.5)};
  const std::vector<Table> tables = make_tables(results, false);
  const std::vector<PairBest> best = best_of_pairs(tables);
  ASSERT_EQ(best.size(), 1u);
  EXPECT_EQ(best[0].table->score->name, "conditional_trend_score");
  EXPECT_EQ(best[0].rows[0]->solver, "csbm");
  EXPECT_EQ(best[0].compared, 5u);
}

// Though most have a KL: one without it that all of them lose to is not left out, one that the best
// of them ties with changes nothing.
TEST(BestOfPairs, DrawsDecideWhereTheBestHasNoKl) {
  const auto decided = [](double csbm, double dlightsb) {
    const auto scored = [](const char* solver, double joint, double trend) {
      return result(kPair, solver, 0,
                    {{"joint_kl", joint, kNaN, {}}, {"conditional_trend_score", trend, kNaN, {}}});
    };
    const std::vector<RunResult> results = {
        scored("oracle", 0.0, 0.95), scored("feature-wise", 4.0, 0.7),
        scored("dlightsb", 3.0, dlightsb), scored("reference", 5.0, 0.6),
        scored("csbm", kNaN, csbm)};
    const std::vector<Table> tables = make_tables(results, false);
    const std::vector<PairBest> best = best_of_pairs(tables);
    return fmt::format("{} {}", best.at(0).table->score->name, best[0].rows[0]->solver);
  };
  EXPECT_EQ(decided(0.9, 0.8), "conditional_trend_score csbm");
  EXPECT_EQ(decided(0.8, 0.8), "joint_kl dlightsb");
  EXPECT_EQ(decided(0.7, 0.8), "joint_kl dlightsb");
}

// Of two solvers, one with an upper bound of its joint KL: it may be the best, or be told worse
// where the bound has settled; else it has no group, and draws decide if it is best by those.
TEST(BestOfPairs, UpperBoundsProveNothingWorse) {
  const auto ranks = [](double bound, double change, const char* best_is) {
    const auto scored = [](const char* solver, Score joint, double trend) {
      return result(kPair, solver, 0,
                    {std::move(joint), {"conditional_trend_score", trend, 0.001, {}}});
    };
    const std::vector<RunResult> results = {
        scored("oracle", {"joint_kl", 0.0, 0.0, {}}, 0.95),
        scored("dlightsb", {"joint_kl", 0.2, 0.001, {}}, 0.8),
        scored("reference", {"joint_kl", 5.0, 0.001, {}}, 0.6),
        scored("csbm", {"joint_kl", bound, 0.001, {}, {}, {}, change}, 0.9)};
    const std::vector<Table> tables = make_tables(results, false);
    const auto joint =
        std::ranges::find(tables, "joint_kl", [](const Table& table) { return table.score->name; });
    const PairBest best = best_of_pairs(tables).at(0);
    EXPECT_EQ(fmt::format("{} {}", best.table->score->name, best.rows[0]->solver), best_is);
    EXPECT_EQ(text_best({best}).find("≤") != std::string::npos,
              best_is == std::string_view("joint_kl csbm"));
    std::string text;
    for (const TableRow& row : joint->rows) {
      if (row.oracle) continue;
      text += fmt::format("{} {} {}; ", row.solver, joint->format_cell(row.cells[0]),
                          group_mark(row.cells[0]));
    }
    return text;
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(ranks(0.1, 0.5, "joint_kl csbm"), HasSubstr("csbm ≤ 0.100 a; "));
  EXPECT_THAT(ranks(0.5, 0.01, "joint_kl dlightsb"), HasSubstr("csbm ≤ 0.500 b; "));
  EXPECT_THAT(ranks(0.5, 0.1, "conditional_trend_score csbm"), HasSubstr("csbm ≤ 0.500 ?; "));
  EXPECT_THAT(ranks(0.5, 0.1, "conditional_trend_score csbm"), HasSubstr("reference 5.00 b; "));
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
