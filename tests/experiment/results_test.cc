#include "bridgemark/experiment/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/experiment/results_testing.h"
#include "tests/support/places.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using ::testing::HasSubstr;
using testing::kInfinity;
using testing::kNaN;
using testing::kPair;
using testing::result;

// One with a line for each score: of the Oracle, of Independent, whose joint KL is infinite there,
// and of a CSBM, whose joint KL is an upper bound.
const std::filesystem::path kOlderFile =
    testing::source_tree() / "tests/experiment/older_results.jsonl";

void expect_same(const RunResult& a, const RunResult& b) {
  EXPECT_EQ(recorded_run(a).config.options, recorded_run(b).config.options);
  EXPECT_EQ(std::tie(a.experiment, a.run, a.method, a.pair, a.dim, a.solver, a.loss, a.num_steps),
            std::tie(b.experiment, b.run, b.method, b.pair, b.dim, b.solver, b.loss, b.num_steps));
  EXPECT_EQ(std::tie(a.seed, a.assignments, a.version, a.device, a.machine, a.threads),
            std::tie(b.seed, b.assignments, b.version, b.device, b.machine, b.threads));
  EXPECT_EQ(std::tie(a.evaluation_seed, a.evaluation_seeds, a.evaluation_num_steps, a.trajectories,
                     a.conditional_samples, a.particles),
            std::tie(b.evaluation_seed, b.evaluation_seeds, b.evaluation_num_steps, b.trajectories,
                     b.conditional_samples, b.particles));
  EXPECT_EQ(std::tie(a.train_seconds, a.evaluate_seconds, a.peak_memory_bytes, a.diagnostics),
            std::tie(b.train_seconds, b.evaluate_seconds, b.peak_memory_bytes, b.diagnostics));
  EXPECT_EQ(std::tie(a.pair_identity, a.data), std::tie(b.pair_identity, b.data));
  EXPECT_EQ(a.joint_kl.rows, b.joint_kl.rows);
  EXPECT_EQ(a.joint_kl.particles, b.joint_kl.particles);
  EXPECT_EQ(a.joint_kl.worst_rows, b.joint_kl.worst_rows);
  EXPECT_EQ(a.joint_kl.worst_values, b.joint_kl.worst_values);
  ASSERT_EQ(a.scores.size(), b.scores.size());
  for (std::size_t i = 0; i < a.scores.size(); ++i) {
    const Score &x = a.scores[i], &y = b.scores[i];
    EXPECT_EQ(std::tie(x.name, x.missing, x.blocks, x.bound_change),
              std::tie(y.name, y.missing, y.blocks, y.bound_change));
    const auto same = [](double p, double q) { return p == q || (std::isnan(p) && std::isnan(q)); };
    EXPECT_TRUE(same(x.mean, y.mean)) << x.name;
    EXPECT_TRUE(same(x.standard_error, y.standard_error)) << x.name;
    EXPECT_TRUE(std::ranges::equal(x.values, y.values, same)) << x.name;
  }
}

std::string refusal(const std::string& text) {
  const testing::TempDir dir;
  std::ofstream(dir.path() / kResultsJsonl) << text;
  try {
    load_results(dir.path() / kResultsJsonl);
  } catch (const FileError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Results, SurviveTheWayThroughFiles) {
  const testing::TempDir dir;
  std::vector<RunResult> results = {
      result(kPair, "dlightsb", 18446744073709551615u,
             {{"joint_kl", kInfinity, kNaN, {kInfinity, 1.0}},
              {"shape_score", 0.1 + 0.2, 1e-300, {0.25}, "", {157, {0.25, -1e-7}}},
              {"c2st_auc", kNaN, kNaN, {kNaN}, "a reason"}}),
      result("a \"b\",\nc", "oracle", 0, {{"shape_score", 1.0, 0.0, {1.0}}})};
  results[0].options = {{"components", "7"}};
  results[0].assignments = {"components=7"};
  results[0].diagnostics = {{"updates", 3}};
  results[0].conditional_samples = 50;
  results[0].rows = {1000, 3};
  write_results(results, dir.path());
  const std::vector<RunResult> loaded = load_results(dir.path() / kResultsJsonl);
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_EQ(loaded[0].seed, results[0].seed);
  EXPECT_EQ(loaded[0].options, results[0].options);
  EXPECT_EQ(loaded[0].rows, results[0].rows);
  EXPECT_EQ(loaded[1].rows, TrainingRows{});
  EXPECT_EQ(recorded_run(loaded[0]).config.rows, results[0].rows);
  EXPECT_EQ(loaded[0].assignments, results[0].assignments);
  EXPECT_EQ(loaded[0].diagnostics, results[0].diagnostics);
  EXPECT_EQ(loaded[1].pair, results[1].pair);
  ASSERT_EQ(loaded[0].scores.size(), 3u);
  EXPECT_EQ(loaded[0].find("joint_kl")->mean, kInfinity);
  EXPECT_EQ(loaded[0].find("joint_kl")->values[1], 1.0);
  EXPECT_EQ(loaded[0].find("shape_score")->mean, 0.1 + 0.2);
  EXPECT_EQ(loaded[0].find("shape_score")->standard_error, 1e-300);
  EXPECT_EQ(loaded[0].find("shape_score")->blocks, results[0].scores[1].blocks);
  EXPECT_EQ(loaded[0].find("joint_kl")->blocks, BlockMeans{});
  EXPECT_EQ(loaded[0].find("c2st_auc"), nullptr);
  EXPECT_EQ(loaded[0].scores[0].name, "c2st_auc");  // a file has them by their names
  EXPECT_EQ(loaded[0].scores[0].missing, "a reason");
  EXPECT_EQ(loaded[0].conditional_samples, 50u);
  EXPECT_EQ(loaded[1].conditional_samples, kConditionalSamples);
}

TEST(Results, HaveALineForEachRun) {
  const std::vector<RunResult> results = {
      result(kPair, "oracle", 0,
             {{"shape_score", 1.0, 0.0, {1.0}}, {"trend_score", 0.5, 0.0, {0.5}}}),
      result(kPair, "oracle", 1, {})};
  const std::string text = results_jsonl(results);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  const nlohmann::json line = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(line.at("scores").at("trend_score"), 0.5);
  EXPECT_EQ(line.at("run"), results[0].run);
}

TEST(Results, OlderFilesHaveALineForEachScore) {
  const std::vector<RunResult> older = load_results(kOlderFile);
  ASSERT_EQ(older.size(), 3u);
  for (const RunResult& run : older) EXPECT_EQ(run.scores.size(), 3u);
  EXPECT_EQ(older[0].joint_kl.rows, 20000u);
  EXPECT_EQ(older[1].find("joint_kl")->mean, kInfinity);
  EXPECT_EQ(older[1].find("conditional_shape_score")->blocks.means.size(), 2u);
  EXPECT_EQ(older[1].scores[1].missing, "the coupling has no closed-form marginals");
  EXPECT_EQ(older[2].find("joint_kl")->bound_change, 0.003612894708847847);
  EXPECT_EQ(older[2].joint_kl.worst_rows.size(), 20u);
  const testing::TempDir dir;
  write_results(older, dir.path());
  const std::vector<RunResult> again = load_results(dir.path() / kResultsJsonl);
  ASSERT_EQ(again.size(), older.size());
  for (std::size_t i = 0; i < older.size(); ++i) expect_same(again[i], older[i]);
}

// A file may have lines of both kinds, which somebody put together: they are of the same runs.
TEST(Results, LinesOfBothKindsAreTheSameRuns) {
  std::ifstream file(kOlderFile);
  const std::string older((std::istreambuf_iterator<char>(file)), {});
  std::vector<RunResult> runs = load_results(kOlderFile);
  const std::string newer = results_jsonl(runs);
  for (RunResult& run : runs) run.run += ".again";
  const testing::TempDir dir;
  std::ofstream(dir.path() / kResultsJsonl) << newer << older << results_jsonl(runs) << newer;
  const std::vector<RunResult> loaded = load_results(dir.path() / kResultsJsonl);
  ASSERT_EQ(loaded.size(), 6u);
  for (std::size_t i = 0; i < 3; ++i) expect_same(loaded[i + 3], runs[i]);
}

TEST(Results, ABoundIsKeptWithoutItsRows) {
  std::vector<RunResult> results = {result(kPair, "csbm", 0, {{"joint_kl", 0.5, 0.1, {0.5}}})};
  for (const double change : {0.25, kInfinity}) {
    results[0].scores[0].bound_change = change;
    const testing::TempDir dir;
    write_results(results, dir.path());
    EXPECT_EQ(load_results(dir.path() / kResultsJsonl)[0].scores[0].bound_change, change);
  }
}

TEST(Results, ABadLineIsRefusedByItsNumber) {
  const std::string good =
      results_jsonl({result(kPair, "oracle", 0, {{"shape_score", 0.5, 0.1, {0.5}}})});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    return refusal(good + bad);
  };
  EXPECT_THAT(with("\"shape_score\":0.5", "\"shape_score\":\"x\""),
              HasSubstr("line 2: a score must be a number or null"));
  EXPECT_THAT(with("\"shape_score\":0.5,", ""), HasSubstr("line 2: key 'shape_score' is missing"));
  EXPECT_THAT(with("{\"shape_score\":0.1}", "{}"),
              HasSubstr("line 2: key 'shape_score' is missing"));
  EXPECT_THAT(with("[0.5]", "0.5"),
              HasSubstr("line 2: the values of 'shape_score' must be an array"));
  EXPECT_THAT(with("\"infinite\":[]", "\"infinite\":0"), HasSubstr("line 2: "));
}

// cat results.jsonl results.jsonl: the same runs, whatever the spelling of a line.
TEST(Results, ARepeatedLineIsOneRun) {
  const testing::TempDir dir;
  const std::vector<RunResult> results = {
      result(kPair, "dlightsb", 0, {{"joint_kl", 0.5, 0.1, {0.5}}}),
      result(kPair, "dlightsb", 1, {{"joint_kl", 0.6, 0.1, {0.6}}})};
  std::string text = results_jsonl(results);
  std::string spaced = text;
  spaced.insert(1, "  ");
  std::ofstream(dir.path() / kResultsJsonl) << text << text << spaced;
  EXPECT_EQ(load_results(dir.path() / kResultsJsonl).size(), 2u);
  // A file of older versions has a line for each score.
  std::ifstream older(kOlderFile);
  const std::string lines((std::istreambuf_iterator<char>(older)), {});
  std::ofstream(dir.path() / kResultsJsonl) << lines << lines;
  const std::vector<RunResult> once = load_results(kOlderFile),
                               twice = load_results(dir.path() / kResultsJsonl);
  ASSERT_EQ(once.size(), twice.size());
  for (std::size_t i = 0; i < once.size(); ++i) expect_same(once[i], twice[i]);
}

TEST(Results, AContradictionIsRefusedByBothLines) {
  std::vector<RunResult> results = {result(kPair, "dlightsb", 0, {{"joint_kl", 0.5, 0.1, {0.5}}}),
                                    result(kPair, "csbm", 0, {{"joint_kl", 0.7, 0.1, {0.7}}})};
  results.push_back(results[0]);
  results[2].scores[0].mean = 0.1;
  EXPECT_THAT(refusal(results_jsonl(results)),
              ::testing::AllOf(HasSubstr("results.jsonl: line 3: says otherwise of run"),
                               HasSubstr("than"), HasSubstr("results.jsonl: line 1")));
  results[2].device = "cuda";  // another training
  EXPECT_EQ(refusal(results_jsonl(results)), "nothing was thrown");
}

TEST(Results, OtherTestSetsAreOtherPairs) {
  std::vector<RunResult> results = {result(kPair, "dlightsb", 0, {}), result(kPair, "csbm", 0, {}),
                                    result(kPair, "dlightsb", 1, {})};
  results[0].pair_identity["test_set"] = "0000000000000001";
  results[1].pair_identity["test_set"] = "0000000000000001";
  EXPECT_EQ(refusal(results_jsonl(results)), "nothing was thrown");  // one line is older
  results[2].pair_identity["test_set"] = "0000000000000002";
  EXPECT_THAT(refusal(results_jsonl(results)),
              ::testing::AllOf(HasSubstr("are of two pairs under one name"),
                               HasSubstr("test set 0000000000000002")));
}

// A record has every option of the solver; a command asks for those that are used.
TEST(Results, CommandsAskForWhatIsUsed) {
  RunResult result;
  result.solver = "dlightsb";
  result.options = {
      {"holdout", "0.2"}, {"init", "uniform"}, {"init_peak", "0.9"}, {"updates", "5"}};
  EXPECT_THAT(recorded_run(result).assignments,
              ::testing::ElementsAre("init=uniform", "updates=5"));
  result.rows = {30, 1};
  EXPECT_THAT(recorded_run(result).assignments,
              ::testing::ElementsAre("holdout=0.2", "init=uniform", "updates=5"));
  result.options["an_older_key"] = "1";
  EXPECT_EQ(recorded_run(result).assignments.size(), 5u);
}

}  // namespace
}  // namespace bridgemark
