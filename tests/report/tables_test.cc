#include "bridgemark/report/tables/tables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/published.h"
#include "bridgemark/report/ranking.h"
#include "bridgemark/report/tables/table_writers.h"
#include "tests/experiment/results_testing.h"
#include "tests/report/tables_testing.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::find_row;
using ::testing::HasSubstr;
using testing::kInfinity;
using testing::kNaN;
using testing::kPair;
using ::testing::Not;
using testing::result;
using testing::shape;

TEST(Published, HoldsTheTablesOfThePaper) {
  EXPECT_EQ(published_cells().size(), 99u * 12u);
  EXPECT_EQ(published_value("conditional_shape_score", "dlightsb", "", "", kPair), 0.948);
  EXPECT_EQ(published_value("reverse_trajectory_kl", "dlightsb-m", "mse", "64",
                            "d64-uniform-0.01-spread"),
            104.1);
  EXPECT_EQ(
      published_value("forward_trajectory_kl", "feature-wise", "", "", "d64-gaussian-0.02-spread"),
      0.006);
  EXPECT_EQ(published_value("c2st_score", "csbm", "kl", "16", "d2-uniform-0.005-spread-reverse"),
            1.0);
  EXPECT_EQ(published_value("trend_score", "alpha-csbm", "kl", "64", "d16-uniform-0.01-spread"),
            0.91);
  EXPECT_FALSE(published_value("joint_kl", "dlightsb", "", "", kPair));
  EXPECT_FALSE(published_value("c2st_score", "dlightsb", "", "", kPair));
  std::set<std::string> solvers, pairs;
  for (const PublishedCell& cell : published_cells()) {
    solvers.insert(cell.solver);
    pairs.insert(cell.pair);
    EXPECT_TRUE(find_preset(cell.pair)) << cell.pair;
  }
  EXPECT_EQ(solvers.size(), 7u);
  EXPECT_EQ(pairs.size(), 24u);
  for (const PairSpec& spec : preset_specs()) {
    EXPECT_EQ(pairs.contains(spec.name), spec.family == PairFamily::kSpread) << spec.name;
    EXPECT_EQ(pairs.contains(spec.name + "-reverse"), spec.family == PairFamily::kSpread);
  }
}

// Three instances with two trainings each.
std::vector<RunResult> instances_of(const std::string& solver, const double (&means)[3],
                                    double seed_half = 0.02) {
  std::vector<RunResult> results;
  for (int i = 0; i < 3; ++i) {
    const std::string pair = instance_name({kPair, i});
    results.push_back(shape(pair, solver, 0, means[i] - seed_half));
    results.push_back(shape(pair, solver, 1, means[i] + seed_half));
  }
  return results;
}

TEST(Tables, InstancesAndSeedsSpreadApart) {
  std::vector<RunResult> results = instances_of("dlightsb", {0.82, 0.92, 0.72});
  results.push_back(shape("my/pair-i1", "dlightsb", 0, 0.5));  // a folder is a pair of its own
  const std::vector<Table> tables = make_tables(results, false);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_THAT(tables[0].pairs, ElementsAre(kPair, "my/pair-i1"));
  const TableCell& cell = tables[0].rows[0].cells[0];
  EXPECT_EQ(cell.runs.size(), 6u);
  EXPECT_EQ(cell.instances, 3u);
  EXPECT_NEAR(cell.mean, 0.82, 1e-12);
  EXPECT_NEAR(cell.standard_error, 0.1 / std::sqrt(3.0), 1e-12);  // over the instances
  EXPECT_NEAR(cell.seed_spread, std::sqrt(2.0) * 0.02, 1e-12);
  EXPECT_NEAR(cell.instance_spread, std::sqrt(0.01 - 0.0008 / 2.0), 1e-12);
  EXPECT_FALSE(cell.published);  // it is of the preset alone
  const std::string shown = "(instances 0.098, seeds 0.028)";
  EXPECT_THAT(markdown_tables(tables, "x"), AllOf(HasSubstr(shown), HasSubstr("at most 3)")));
  EXPECT_THAT(latex_tables(tables), HasSubstr(shown));
  EXPECT_THAT(text_table(tables[0], false), HasSubstr(shown));
  EXPECT_THAT(csv_tables(tables),
              AllOf(HasSubstr(",machine,instances,instance_spread,seed_spread\n"),
                    HasSubstr(",3,0.0979"), HasSubstr(",1,,\n")));
  const TableCell& other = tables[0].rows[0].cells[1];
  EXPECT_EQ(tables[0].format_spreads(other), "");
}

TEST(Tables, SeedsMayExplainAllOfTheInstances) {
  std::vector<RunResult> results = instances_of("dlightsb", {0.82, 0.821, 0.819}, 0.1);
  std::vector<Table> tables = make_tables(results, false);
  EXPECT_EQ(tables[0].rows[0].cells[0].instance_spread, 0.0);
  results = {shape(kPair, "dlightsb", 0, 0.8), shape(kPair + "-i4", "dlightsb", 0, 0.9)};
  tables = make_tables(results, false);
  EXPECT_TRUE(std::isnan(tables[0].rows[0].cells[0].seed_spread));
  EXPECT_THAT(markdown_tables(tables, "x"), HasSubstr("(instances 0.071)"));
  // One instance alone is a pair like any other, and nothing is said of instances.
  results = {shape(kPair + "-i4", "dlightsb", 0, 0.9)};
  tables = make_tables(results, false);
  EXPECT_THAT(tables[0].pairs, ElementsAre(kPair + "-i4"));
  EXPECT_THAT(csv_tables(tables), HasSubstr(",device,machine\n"));
  EXPECT_THAT(markdown_tables(tables, "x"), Not(HasSubstr("instance")));
}

// An instance that is hard for both does not hide that one is better on each.
TEST(Tables, RowsAreComparedInstanceByInstance) {
  std::vector<RunResult> results = instances_of("dlightsb", {0.82, 0.92, 0.72});
  for (RunResult& other : instances_of("csbm", {0.81, 0.909, 0.711})) results.push_back(other);
  std::vector<Table> tables = make_tables(results, false);
  EXPECT_EQ(find_row(tables[0], "DLightSB").cells[0].rank, 1);
  EXPECT_EQ(find_row(tables[0], "CSBM").cells[0].rank, 2);
  EXPECT_NEAR(tables[0].smallest_gaps[0], 4.3027 * 0.001 / std::sqrt(3.0), 1e-5);
  EXPECT_FALSE(tables[0].unpaired);
  results.pop_back();  // other instances: no pairs
  results.pop_back();
  tables = make_tables(results, false);
  EXPECT_TRUE(tables[0].unpaired);
  EXPECT_EQ(find_row(tables[0], "CSBM").cells[0].rank, 1);
}

TEST(Tables, MeanAndErrorOverSeeds) {
  const std::vector<RunResult> results = {shape(kPair, "dlightsb", 0, 0.90, 0.5),
                                          shape(kPair, "dlightsb", 1, 0.94, 0.5),
                                          shape(kPair, "reference", 0, 0.2, 0.003)};
  const std::vector<Table> tables = make_tables(results, false);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_THAT(tables[0].pairs, ElementsAre(kPair));
  const TableCell& twice = find_row(tables[0], "DLightSB").cells[0];
  EXPECT_NEAR(twice.mean, 0.92, 1e-12);
  EXPECT_NEAR(twice.standard_error, 0.02, 1e-12);  // over the two, not the 0.5 within each
  EXPECT_EQ(twice.runs.size(), 2u);
  EXPECT_EQ(twice.published, 0.948);
  const TableCell& once = find_row(tables[0], "Reference").cells[0];
  EXPECT_EQ(once.standard_error, 0.003);
  EXPECT_EQ(once.published, 0.167);
}

TEST(Tables, PairsOfTheTextHaveNoPublishedNumbers) {
  const std::vector<RunResult> results = {shape("d2-gaussian-0.02", "reference", 0, 0.2),
                                          shape(kPair, "reference", 0, 0.3)};
  const Table table = make_tables(results, false).at(0);
  ASSERT_THAT(table.pairs, ElementsAre("d2-gaussian-0.02", kPair));
  EXPECT_FALSE(find_row(table, "Reference").cells[0].published.has_value());
  EXPECT_EQ(find_row(table, "Reference").cells[1].published, 0.167);
}

// Independent draws x1 from p1 whatever x0 is: scores that it can win have groups, and no best.
TEST(Tables, ScoresThatOnlyTellBadOnesHaveNoMark) {
  const std::string reversed = kPair + "-reverse";
  std::vector<RunResult> results;
  for (const char* solver : {"oracle", "independent", "dlightsb"}) {
    const double value = std::string(solver) == "dlightsb" ? 0.8 : 0.99;
    results.push_back(result(kPair, solver, 0,
                             {{"shape_score", value, kNaN, {}}, {"trend_score", value, kNaN, {}}}));
    results.push_back(result(reversed, solver, 0, {{"c2st_score", value, kNaN, {}}}));
  }
  const std::vector<Table> tables = make_tables(results, false);
  ASSERT_EQ(tables.size(), 3u);
  for (const Table& table : tables) {
    for (const TableRow& row : table.rows) {
      EXPECT_EQ(table.marked_place(row.cells[0]), 0) << table.score->name;
      EXPECT_EQ(row.cells[0].rank, row.oracle ? 0 : row.solver == "dlightsb" ? 2 : 1);
    }
  }
  EXPECT_THAT(markdown_tables(tables, "x"), Not(HasSubstr("**0.99")));
  EXPECT_THAT(best_of_pairs(tables), ::testing::IsEmpty());
}

// Nothing is known of which values are better, so no form says anything of that.
TEST(Tables, OwnMetricsHaveTablesOfTheirOwn) {
  std::vector<RunResult> results;
  for (const char* solver : {"oracle", "reference", "dlightsb"}) {
    const double value = std::string(solver) == "dlightsb" ? 12.5 : 0.25;
    results.push_back(result(kPair, solver, 0,
                             {{"moved", value, 0.02, {value}},
                              {"\x1b[2J", value, kNaN, {value}},
                              {"joint_kl", value, kNaN, {value}}}));
    results.push_back(result(kPair + "-reverse", solver, 0, {{"moved", value, kNaN, {value}}}));
  }
  const std::vector<Table> tables = make_tables(results, false);
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[0].score->name, "joint_kl");
  EXPECT_EQ(tables[1].title(), "moved");
  EXPECT_EQ(tables[1].score->group, "Own metrics");
  EXPECT_EQ(tables[2].title(), "moved, reversed pairs");
  for (const TableRow& row : tables[1].rows) {
    EXPECT_EQ(row.cells[0].rank, 0);
    EXPECT_EQ(row.cells[0].band, Band::kNone);
    EXPECT_EQ(group_mark(row.cells[0]), "");
  }
  const std::vector<Table> own = {tables[1]};
  EXPECT_THAT(text_table(own[0], true), AllOf(HasSubstr("moved (own metric)"), HasSubstr("12.5"),
                                              Not(HasSubstr("better")), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(markdown_tables(own, "x"),
              AllOf(HasSubstr("## moved (own metric)"), HasSubstr("12.5 ± 0.020"),
                    Not(HasSubstr("is better"))));
  EXPECT_THAT(latex_tables(own), AllOf(HasSubstr("\\caption{moved. "), Not(HasSubstr("uparrow"))));
  EXPECT_THAT(csv_tables(own), HasSubstr("moved,DLightSB,"));
  EXPECT_THAT(best_of_pairs(own), ::testing::IsEmpty());
}

TEST(Tables, KlsKeepSignificantDigits) {
  const auto kl = [](const char* solver, double value, double error) {
    return result(kPair, solver, 0, {{"forward_trajectory_kl", value, error, {value}}});
  };
  const std::vector<RunResult> results = {kl("reference", 104.12, 1.26),
                                          kl("dlightsb", 0.00041234, 0.0000123)};
  const std::vector<Table> tables = make_tables(results, false);
  EXPECT_EQ(tables[0].format(0.0099996), "0.0100");
  EXPECT_EQ(tables[0].format(1234.5), "1234");
  EXPECT_EQ(tables[0].format(1.5e-7), "1.50e-07");
  const std::string markdown = markdown_tables(tables, "x");
  EXPECT_THAT(markdown,
              AllOf(HasSubstr("**0.000412** a ± 0.000012"), HasSubstr("104</ins> b ± 1.3")));
  EXPECT_THAT(text_table(tables[0], false), HasSubstr("0.000412 a ±0.000012"));
  EXPECT_THAT(latex_tables(tables), HasSubstr("\\textbf{0.000412}$^{a}${\\tiny$\\pm$0.000012}"));
  EXPECT_THAT(csv_tables(tables), HasSubstr(",0.00041234,1.23e-05,"));
}

// A small score or error never reads as zero in any form; zero does.
TEST(Tables, SmallScoresKeepDigits) {
  const std::vector<RunResult> results = {shape(kPair, "reference", 0, 0.00042, 0.0000213),
                                          shape(kPair, "dlightsb", 0, 0.9, 0.0)};
  const std::vector<Table> tables = make_tables(results, false);
  EXPECT_EQ(tables[0].format(0.042), "0.042");
  EXPECT_EQ(tables[0].format(0.0096), "0.0096");
  EXPECT_EQ(tables[0].format(0.0), "0.000");
  EXPECT_EQ(tables[0].format(-1e-17), "0.000");
  EXPECT_THAT(markdown_tables(tables, "x"),
              AllOf(HasSubstr("0.00042</ins> b ± 0.00002"), HasSubstr("**0.900** a ± 0.0000")));
  EXPECT_THAT(latex_tables(tables), HasSubstr("\\underline{0.00042}$^{b}${\\tiny$\\pm$0.00002}"));
  EXPECT_THAT(text_table(tables[0], false), HasSubstr("0.00042 b ±0.00002"));
  EXPECT_THAT(csv_tables(tables), HasSubstr(",0.00042,2.13e-05,"));
}

// A score that a run cannot give is told from one that was not measured and from an infinite one.
TEST(Tables, MissingIsNotBlankAndNotInfinite) {
  const auto kl = [](const char* pair, const char* solver, double value) {
    Score score{"joint_kl", value, kNaN, {value}};
    if (std::isnan(value)) score.missing = "the coupling gives no joint log-probability";
    return result(pair, solver, 0, {score});
  };
  const std::vector<RunResult> results = {kl(kPair.c_str(), "reference", kInfinity),
                                          kl(kPair.c_str(), "csbm", kNaN),
                                          kl("d2-gaussian-0.05-spread", "csbm", 1.0)};
  const std::vector<Table> tables = make_tables(results, false);
  const TableRow &reference = find_row(tables.at(0), "Reference"),
                 &csbm = find_row(tables.at(0), "CSBM");
  EXPECT_EQ(csbm.cells[0].missing, "the coupling gives no joint log-probability");
  EXPECT_FALSE(csbm.cells[0].measured());
  EXPECT_EQ(reference.cells[1].missing, "");
  const std::string markdown = markdown_tables(tables, "x");
  EXPECT_THAT(markdown, AllOf(HasSubstr("| Reference |  | 🟥 inf |  |"),
                              HasSubstr("| CSBM |  | – | 🟨 **1.00** a |")));
  EXPECT_THAT(text_table(tables[0], false), AllOf(HasSubstr("inf"), HasSubstr("–")));
  EXPECT_THAT(latex_tables(tables), HasSubstr("CSBM & -- & -- & -- & "));
}

TEST(Tables, WholeTablesHaveBlanksAndNoCopies) {
  const std::vector<RunResult> results = {shape("d16-uniform-0.01-spread", "dlightsb", 0, 0.91)};
  const std::vector<Table> tables = make_tables(results, true);
  ASSERT_EQ(tables.size(), 7u);
  const std::size_t rows[] = {17, 17, 16, 16, 17, 17, 6};  // those of the paper and the Oracle
  for (std::size_t i = 0; i < tables.size(); ++i) {
    EXPECT_EQ(tables[i].pairs.size(), 12u);
    EXPECT_EQ(tables[i].rows.size(), rows[i]) << tables[i].score->name;
  }
  std::size_t measured = 0;
  for (const Table& table : tables) {
    for (const TableRow& row : table.rows) {
      for (const TableCell& cell : row.cells) {
        measured += cell.measured();
        EXPECT_EQ(cell.published.has_value(), cell.measured());
      }
    }
  }
  EXPECT_EQ(measured, 1u);
  EXPECT_EQ(tables[0].rows[0].method, "Oracle");
  EXPECT_THAT(tables[6].pairs[0], HasSubstr("-reverse"));
  // Only one number of the paper gets into the Markdown: that of the measured cell.
  const std::string text = markdown_tables(tables, "x");
  EXPECT_THAT(text, AllOf(HasSubstr("**0.910** a _[0.933]_"), Not(HasSubstr("0.948"))));
}

// Reversed pairs have tables of their own for what they share with the others.
TEST(Tables, ReversedPairsStandApart) {
  const std::string reversed = kPair + std::string("-reverse");
  const std::vector<RunResult> results = {shape(kPair, "oracle", 0, 0.95),
                                          shape(reversed, "oracle", 0, 0.94),
                                          shape(reversed, "dlightsb", 0, 0.9)};
  const std::vector<Table> tables = make_tables(results, false);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].pairs, std::vector<std::string>{kPair});
  EXPECT_EQ(tables[1].pairs, std::vector<std::string>{reversed});
  EXPECT_EQ(tables[1].title(), "Conditional shape score, reversed pairs");
  EXPECT_EQ(tables[1].rows.size(), 2u);
  EXPECT_THAT(latex_tables(tables), HasSubstr("conditional_shape_score_reversed"));
  for (const Table& table : make_tables(results, true)) {
    if (table.title() == tables[1].title()) {
      EXPECT_EQ(table.rows.size(), 2u);
    }
  }
}

TEST(Tables, EveryFormShowsTheCell) {
  const std::vector<RunResult> results = {shape(kPair, "alpha-csbm", 0, 0.8, 0.01, "mse", "64"),
                                          shape(kPair, "oracle", 0, 0.95),
                                          shape("d2-gaussian-0.05-spread", "dlightsb", 0, 0.4)};
  const std::vector<Table> tables = make_tables(results, false);
  const std::string plain = text_table(tables[0], false);
  EXPECT_THAT(plain, AllOf(HasSubstr("α-CSBM"), HasSubstr("MSE, 64 steps"),
                           HasSubstr("0.800 a ±0.0100 [0.880]"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(text_table(tables[0], true), HasSubstr("\x1b[30;48;5;228m\x1b[1m0.800 a"));
  EXPECT_THAT(markdown_tables(tables, "Title"),
              AllOf(HasSubstr("# Title\n"), HasSubstr("🟨 **0.800** a ± 0.0100 _[0.880]_"),
                    HasSubstr("| _Oracle_ |")));
  const std::string latex = latex_tables(tables);
  EXPECT_THAT(
      latex,
      AllOf(HasSubstr("\\cellcolor{scoremidgood!45}\\textbf{0.800}$^{a}${\\tiny$\\pm$0.0100} "
                      "{\\tiny[0.880]}"),
            HasSubstr("$\\alpha$-CSBM & MSE & 64 & "), HasSubstr("\\textit{Oracle}"),
            HasSubstr("\\label{table:conditional_shape_score}")));
  EXPECT_THAT(
      csv_tables(tables),
      AllOf(HasSubstr("conditional_shape_score,α-CSBM,alpha-csbm,mse,64,d2-gaussian-0.02-spread,"
                      "0.8,0.01,1,1,0.88,1,0.0282843,mid-good,test,"),
            HasSubstr(",\"a machine, quick\"\n")));
}

RunResult with_rows(RunResult result, TrainingRows rows) {
  result.rows = rows;
  result.run += training_rows_suffix(rows);
  return result;
}

// A mean is of one number of rows, over sets; the Oracle, which learns from none, is beside each.
TEST(Tables, NumbersOfTrainingRowsAreTablesOfTheirOwn) {
  std::vector<RunResult> results = {shape(kPair, "oracle", 0, 0.99),
                                    shape(kPair, "dlightsb", 0, 0.9)};
  for (const std::uint64_t set : {0, 1}) {
    for (const std::uint64_t seed : {0, 1}) {
      const double value = 0.6 + 0.1 * static_cast<double>(set) + 0.02 * static_cast<double>(seed);
      results.push_back(with_rows(shape(kPair, "dlightsb", seed, value), {100, set}));
    }
  }
  results.push_back(with_rows(shape(kPair, "dlightsb", 0, 0.8), {1000, 0}));
  const std::vector<Table> tables = make_tables(results, false);
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[0].title(), "Conditional shape score");
  EXPECT_EQ(tables[1].title(), "Conditional shape score at n = 100");
  EXPECT_EQ(tables[2].title(), "Conditional shape score at n = 1000");
  EXPECT_THAT(tables[1].note(), HasSubstr("trained on 100 rows a side"));
  const double means[] = {0.9, 0.66, 0.8};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(tables[i].samples, (std::vector<std::size_t>{0, 100, 1000})[i]);
    EXPECT_DOUBLE_EQ(find_row(tables[i], "Oracle").cells[0].mean, 0.99);
    EXPECT_NEAR(find_row(tables[i], "DLightSB").cells[0].mean, means[i], 1e-12);
  }
  const TableCell& cell = find_row(tables[1], "DLightSB").cells[0];
  EXPECT_EQ(cell.runs.size(), 4u);
  EXPECT_NEAR(cell.standard_error, 0.05, 1e-12);  // of the sets' means 0.61 and 0.71
  EXPECT_TRUE(find_row(tables[0], "DLightSB").cells[0].published);
  EXPECT_FALSE(cell.published);  // the paper's draws are endless
  const std::string csv = csv_tables(tables);
  EXPECT_THAT(csv, AllOf(HasSubstr("machine,samples,training_sets\n"), HasSubstr(",100,0; 1\n"),
                         HasSubstr(",1000,0\n"), HasSubstr(",0,\n")));
  EXPECT_THAT(spread_note(tables), HasSubstr("mean over the sets"));
  EXPECT_THAT(csv_tables({tables[0]}), Not(HasSubstr("training_sets")));
}

TEST(Tables, WithoutEndlessTrainingsThereIsNoTableOfThem) {
  const std::vector<RunResult> results = {
      shape(kPair, "oracle", 0, 0.99), shape(kPair, "reference", 0, 0.3),
      with_rows(shape(kPair, "dlightsb", 0, 0.8), {1000, 0}),
      with_rows(shape(kPair + "-reverse", "dlightsb", 0, 0.7), {1000, 0})};
  const std::vector<Table> tables = make_tables(results, false);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].rows.size(), 3u);
  EXPECT_EQ(tables[1].title(), "Conditional shape score at n = 1000, reversed pairs");
  EXPECT_EQ(tables[1].short_title(), "Conditional shape score at n = 1000");
  EXPECT_EQ(make_tables({results[0], results[1]}, false).at(0).samples, 0u);
}

TEST(Tables, TheBestIsFoundAtEachNumberOfRows) {
  const auto trend = [](const std::string& solver, TrainingRows rows, double value) {
    return with_rows(result(kPair, solver, 0, {{"conditional_trend_score", value, 0.001, {value}}}),
                     rows);
  };
  const std::vector<RunResult> results = {trend("dlightsb", {}, 0.9), trend("csbm", {}, 0.8),
                                          trend("dlightsb", {100, 0}, 0.4),
                                          trend("csbm", {100, 0}, 0.6)};
  const std::vector<Table> tables = make_tables(results, false);
  const std::vector<PairBest> best = best_of_pairs(tables);
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].samples, 0u);
  EXPECT_EQ(best[0].rows[0]->solver, "dlightsb");
  EXPECT_EQ(best[1].samples, 100u);
  EXPECT_EQ(best[1].rows[0]->solver, "csbm");
  EXPECT_THAT(text_best(best), HasSubstr("Conditional trend score at n = 100"));
}

}  // namespace
}  // namespace bridgemark
