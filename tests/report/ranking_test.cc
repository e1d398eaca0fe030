#include "bridgemark/report/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bridgemark/report/tables/table_writers.h"
#include "bridgemark/report/tables/tables.h"
#include "tests/experiment/results_testing.h"
#include "tests/report/tables_testing.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::find_row;
using ::testing::HasSubstr;
using testing::kInfinity;
using testing::kNaN;
using testing::kPair;
using ::testing::Not;
using testing::result;
using testing::shape;

TEST(Ranking, RanksAndBands) {
  const std::vector<RunResult> results = {shape(kPair, "oracle", 0, 0.99),
                                          shape(kPair, "independent", 0, 0.9001),
                                          shape(kPair, "reference", 0, 0.4999),
                                          shape(kPair, "feature-wise", 0, 0.9003),
                                          shape(kPair, "dlightsb", 0, 0.75),
                                          shape(kPair, "csbm", 0, 0.85, kNaN, "kl", "16"),
                                          shape(kPair, "csbm", 0, 0.5, kNaN, "kl", "64")};
  const Table table = make_tables(results, false).at(0);
  const auto cell = [&](const char* method, const char* details = "") {
    return find_row(table, method, details).cells[0];
  };
  EXPECT_EQ(cell("Oracle").rank, 0);
  EXPECT_EQ(cell("Independent").rank, 1);  // 0.900 like the next
  EXPECT_EQ(cell("Feature-wise SB").rank, 1);
  EXPECT_EQ(cell("CSBM", "KL, 16 steps").rank, 2);
  EXPECT_EQ(cell("DLightSB").rank, 3);
  EXPECT_EQ(cell("CSBM", "KL, 64 steps").rank, 4);  // 0.500 like the next
  EXPECT_EQ(cell("Reference").rank, 4);
  EXPECT_EQ(cell("Reference").band, Band::kBad);
  EXPECT_EQ(cell("CSBM", "KL, 64 steps").band, Band::kMidBad);
  EXPECT_EQ(cell("DLightSB").band, Band::kMidGood);
  EXPECT_EQ(cell("CSBM", "KL, 16 steps").band, Band::kGood);

  const auto kl = [](const char* solver, double value) {
    return result(kPair, solver, 0, {{"forward_trajectory_kl", value, kNaN, {value}}});
  };
  const std::vector<RunResult> lower = {kl("oracle", 0.0), kl("reference", kInfinity),
                                        kl("feature-wise", 2.0), kl("dlightsb", -1e-17)};
  const Table kls = make_tables(lower, false).at(0);
  EXPECT_EQ(find_row(kls, "DLightSB").cells[0].rank, 1);
  EXPECT_EQ(kls.format(-1e-17), "0");
  EXPECT_EQ(find_row(kls, "DLightSB").cells[0].band, Band::kGood);
  EXPECT_EQ(find_row(kls, "Feature-wise SB").cells[0].band, Band::kMidBad);
  EXPECT_EQ(find_row(kls, "Feature-wise SB").cells[0].rank, 2);
  EXPECT_EQ(find_row(kls, "Reference").cells[0].band, Band::kBad);
  EXPECT_EQ(find_row(kls, "Reference").cells[0].rank, 0);
  EXPECT_THAT(text_table(kls, false), HasSubstr("inf"));
}

// Records without blocks: a difference within two standard errors is a tie, and nothing is better
// than the truth.
TEST(Ranking, TiesWithinTwoStandardErrorsShareARank) {
  const auto ranks = [](const std::vector<RunResult>& results) {
    const std::vector<Table> tables = make_tables(results, false);
    std::string text;
    for (const TableRow& row : tables.at(0).rows) {
      text += std::to_string(row.cells[0].rank);
    }
    return text;
  };
  // 0.901 and 0.910 differ by less than 2 errors of the difference, 0.890 by 4; the Oracle is out
  // of reach.
  EXPECT_EQ(
      ranks({shape(kPair, "oracle", 0, 0.99, 0.001), shape(kPair, "independent", 0, 0.901, 0.003),
             shape(kPair, "reference", 0, 0.91, 0.004),
             shape(kPair, "feature-wise", 0, 0.89, 0.003),
             shape(kPair, "dlightsb", 0, 0.80, 0.003)}),
      "01123");
  // Above the Oracle by noise, at it and below it by noise: all at the ceiling, though the first
  // and the last are more than two errors apart.
  EXPECT_EQ(
      ranks({shape(kPair, "oracle", 0, 0.950, 0.001), shape(kPair, "independent", 0, 0.952, 0.001),
             shape(kPair, "reference", 0, 0.950, 0.001),
             shape(kPair, "feature-wise", 0, 0.948, 0.001),
             shape(kPair, "dlightsb", 0, 0.940, 0.001)}),
      "01112");
  // A row without an error is taken to have the column's largest.
  EXPECT_EQ(ranks({shape(kPair, "independent", 0, 0.900, 0.002),
                   shape(kPair, "reference", 0, 0.905), shape(kPair, "feature-wise", 0, 0.898)}),
            "112");
  // Without any error the digits decide.
  EXPECT_EQ(ranks({shape(kPair, "independent", 0, 0.9001), shape(kPair, "reference", 0, 0.9003),
                   shape(kPair, "feature-wise", 0, 0.9011)}),
            "221");
  const auto kl = [](const char* solver, double value, double error) {
    return result(kPair, solver, 0, {{"joint_kl", value, error, {value}}});
  };
  EXPECT_EQ(ranks({kl("oracle", 0.0, 0.0), kl("reference", 0.0004, 0.0001),
                   kl("feature-wise", 0.0001, 0.0001), kl("dlightsb", 0.0007, 0.0001)}),
            "0213");
}

// The paired rule: blocks of the same inputs decide, whatever the standard errors say.
TEST(Ranking, PairedBlocksDecideTies) {
  const auto run = [](const char* solver, std::uint64_t seed, double level, double own_noise) {
    BlockMeans blocks{157, {}};
    for (int b = 0; b < 40; ++b) {
      const double hard = 0.1 * std::sin(b),
                   own = own_noise * std::cos(b * (static_cast<double>(seed) + 2.0));
      blocks.means.push_back(level + hard + own);
    }
    return result(kPair, solver, seed,
                  {{"conditional_shape_score", level, 0.5, {level}, "", std::move(blocks)}});
  };
  const std::vector<RunResult> results = {
      run("oracle", 0, 0.95, 0.0), run("independent", 0, 0.90, 0.001),
      run("reference", 1, 0.90, 0.002), run("feature-wise", 2, 0.90, 0.01),
      run("dlightsb", 3, 0.89, 0.001)};
  const Table table = make_tables(results, false).at(0);
  std::string ranks;
  for (const TableRow& row : table.rows) ranks += std::to_string(row.cells[0].rank);
  EXPECT_EQ(ranks, "01112");  // by their errors of 0.5 all would tie with the Oracle
  EXPECT_FALSE(table.unpaired);
  // The best is told from the Oracle by less than DLightSB from the best: it has less noise.
  const double smallest = table.smallest_gaps.at(0);
  EXPECT_EQ(smallest, find_row(table, "Independent").cells[0].smallest_gap);
  EXPECT_GT(smallest, 0.0001);
  EXPECT_LT(smallest, find_row(table, "DLightSB").cells[0].smallest_gap);
  EXPECT_LT(find_row(table, "DLightSB").cells[0].smallest_gap, 0.002);
  EXPECT_THAT(tie_note({table}), Not(HasSubstr("older")));

  // The best model twice: a tie, and no gap of 0.
  std::vector<RunResult> twice = results;
  twice.push_back(twice[1]);
  twice.back().method = "twin";
  const Table twins = make_tables(twice, false).at(0);
  EXPECT_EQ(find_row(twins, "twin").cells[0].rank, 1);
  EXPECT_EQ(twins.smallest_gaps.at(0), smallest);

  // One row without blocks is compared by errors, and the note says so: too noisy for a winner.
  std::vector<RunResult> mixed = results;
  mixed[4].scores[0].blocks = {};
  const Table fallback = make_tables(mixed, false).at(0);
  EXPECT_TRUE(find_row(fallback, "DLightSB").cells[0].too_noisy);
  EXPECT_TRUE(fallback.unpaired);
  EXPECT_THAT(tie_note({fallback}), HasSubstr("older"));
}

// Noise makes no winner: what no comparison tells from the best, but could be far from the truth,
// is left open, on either side of it. Equal noise ties.
TEST(Ranking, NoisyRowsAreLeftOpen) {
  const auto marks = [](const std::vector<std::pair<double, double>>& rows) {
    std::vector<RunResult> results = {result(kPair, "oracle", 0, {{"joint_kl", 0.0, 0.0, {0.0}}})};
    const char* solvers[] = {"reference", "feature-wise", "dlightsb", "dlightsb-m"};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto [value, error] = rows[i];
      results.push_back(result(kPair, solvers[i], 0, {{"joint_kl", value, error, {value}}}));
    }
    const std::vector<Table> tables = make_tables(results, false);
    const bool said = tie_note(tables).find("noise does not make it a winner") != std::string::npos;
    std::string text;
    for (const TableRow& row : tables.at(0).rows) {
      if (!row.oracle) text += group_mark(row.cells[0]);
    }
    EXPECT_EQ(text.find('?') != std::string::npos, said);
    return text;
  };
  EXPECT_EQ(marks({{0.0519, 0.050}, {0.000184, 0.00002}, {0.5, 0.01}}), "?ab");
  EXPECT_EQ(marks({{-0.03, 0.050}, {0.000184, 0.00002}, {0.5, 0.01}}), "?ab");
  EXPECT_EQ(marks({{0.001, 0.001}, {0.0004, 0.0003}}), "aa");
  EXPECT_EQ(marks({{0.0519, 0.050}, {0.06, 0.050}}), "aa");
}

TEST(Ranking, GroupsHaveLetters) {
  EXPECT_EQ(group_letters(0), "");
  EXPECT_EQ(group_letters(1), "a");
  EXPECT_EQ(group_letters(26), "z");
  EXPECT_EQ(group_letters(27), "aa");
  EXPECT_EQ(group_letters(703), "aaa");
}

TEST(Ranking, GroupsAndGapsAreInEveryForm) {
  const std::vector<RunResult> results = {
      shape(kPair, "oracle", 0, 0.99, 0.001), shape(kPair, "independent", 0, 0.901, 0.003),
      shape(kPair, "reference", 0, 0.91, 0.004), shape(kPair, "dlightsb", 0, 0.80, 0.003)};
  const std::vector<Table> tables = make_tables(results, false);
  // The smallest is that of the best to the Oracle: 2 hypot(0.004, 0.001).
  EXPECT_THAT(text_table(tables[0], false), AllOf(HasSubstr("0.910 a ±"), HasSubstr("0.800 b ±"),
                                                  HasSubstr("smallest gap    0.0082\n")));
  EXPECT_THAT(markdown_tables(tables, "x"),
              AllOf(HasSubstr("**0.901** a ± "), HasSubstr("<ins>0.800</ins> b ± "),
                    HasSubstr("| _smallest gap_ | | 0.0082 |\n")));
  EXPECT_THAT(latex_tables(tables), AllOf(HasSubstr("\\textbf{0.901}$^{a}$"),
                                          HasSubstr("\\textit{smallest gap} & -- & -- & 0.0082")));
  EXPECT_THAT(csv_tables(tables), HasSubstr(",rank,smallest_gap,band,"));
}

}  // namespace
}  // namespace bridgemark
