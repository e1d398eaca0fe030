#include "bridgemark/solver/run/run_contestant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "bridgemark/io/npy.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

constexpr std::size_t kFreshRows = 12;

RunConfig contestant_config(const TrainingRows& rows, std::string x1_data = {}) {
  return {"dlightsb", "", 0, {{"x0_data", ""}, {"x1_data", std::move(x1_data)}}, rows};
}

DataContestant contestant_with(const RunConfig& config, const FitProblem& problem) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  return run_contestant({}, "run", config, problem, std::make_shared<CpBridge>(pair.cp_bridge()),
                        kFreshRows);
}

TEST(RunContestant, HasTheRowsOfItsTraining) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const DataContestant endless = contestant_with(contestant_config({}), pair);
  EXPECT_TRUE(endless.trained_on_endless_draws);
  EXPECT_EQ(endless.training_x0.rows(), kFreshRows);
  EXPECT_EQ(endless.training_x1.rows(), kFreshRows);
  ASSERT_TRUE(endless.reference);
  EXPECT_EQ(endless.reference->gamma(), pair.reference().gamma());

  const DataContestant of_set = contestant_with(contestant_config({30, 2}), pair);
  const TrainingSet set = training_set({}, pair, 30, 2);
  EXPECT_FALSE(of_set.trained_on_endless_draws);
  EXPECT_EQ(of_set.training_x0, set.x0);
  EXPECT_EQ(of_set.training_x1, set.x1);

  const DataContestant of_data =
      contestant_with(contestant_config({}), FitProblem(set.x0, set.x1, pair.reference()));
  EXPECT_FALSE(of_data.trained_on_endless_draws);
  EXPECT_EQ(of_data.training_x1, set.x1);
}

TEST(RunContestant, FilesOfAnOptionTakeTheirPlace) {
  const testing::TempDir temp;
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const States rows = pair.sample_x1({}, 9, 3);
  const std::string path = (temp.path() / "x1.npy").string();
  save_npy(path, {9, 2}, std::span<const std::int32_t>(rows.data(), rows.size()));
  const DataContestant found = contestant_with(contestant_config({}, path), pair);
  EXPECT_FALSE(found.trained_on_endless_draws);
  EXPECT_EQ(found.training_x1, rows);
  const DataContestant gone = contestant_with(contestant_config({}, path + ".gone"), pair);
  EXPECT_EQ(gone.training_x1.rows(), 0u);
  EXPECT_THAT(gone.no_rows, ::testing::HasSubstr("its training rows cannot be read: "));
}

// By what was learned alone: without a law of x0 a bridge answers one direction.
TEST(RunContestant, TurnsRoundByWhatWasLearned) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const DataContestant without = contestant_with(contestant_config({}), pair);
  EXPECT_EQ(without.reverse, nullptr);
  EXPECT_THAT(without.no_reverse, ::testing::HasSubstr("one direction alone"));
  const DataContestant with =
      run_contestant({}, "run", contestant_config({}), pair,
                     pair.cp_bridge().with_source(pair.source().parts()), kFreshRows);
  EXPECT_NE(with.reverse, nullptr);
}

}  // namespace
}  // namespace bridgemark
