#include "bridgemark/experiment/results.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/experiment/results_testing.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::kInfinity;
using testing::kNaN;
using testing::kPair;
using testing::result;

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
  EXPECT_EQ(loaded[0].scores[2].missing, "a reason");
  EXPECT_EQ(loaded[0].conditional_samples, 50u);
  EXPECT_EQ(loaded[1].conditional_samples, kConditionalSamples);
}

}  // namespace
}  // namespace bridgemark
