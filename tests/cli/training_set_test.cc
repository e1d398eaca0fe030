#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/io/npy.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/pair/training_set.h"
#include "tests/cli/run_program.h"

// --samples and --training-set of train, kit and evaluate.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::expect_success;
using ::testing::HasSubstr;
using testing::run_program;
using testing::TempDir;

constexpr char kSpreadPair[] = "d2-uniform-0.01-spread";

TEST(TrainingSetCommands, TrainScoreAndSample) {
  const TempDir temp;
  const std::string run = (temp.path() / "run").string();
  const std::vector<std::string> train = {
      "train", "feature-wise",   "--pair", kSpreadPair, "--samples",
      "200",   "--training-set", "1",      "-o",        run};
  EXPECT_THAT(
      expect_success(train),
      HasSubstr(std::string("feature-wise on 200 rows of training set 1 of ") + kSpreadPair));
  std::vector<std::string> resume = train;
  resume.push_back("--resume");
  expect_success(resume);
  resume[5] = "201";
  EXPECT_THAT(run_program(resume).err, HasSubstr("another configuration"));
  const auto scores =
      nlohmann::json::parse(expect_success({"evaluate", kSpreadPair, "--run", run, "--trajectories",
                                            "10", "--conditional-samples", "20", "--json"}));
  EXPECT_EQ(scores.at("samples"), 200);
  EXPECT_EQ(scores.at("training_set"), 1);
  EXPECT_TRUE(scores.at("joint_kl").is_number());
  const std::string kit = (temp.path() / "kit").string();
  EXPECT_THAT(
      expect_success({"kit", kSpreadPair, "--samples", "200", "--training-set", "1", "-o", kit}),
      AllOf(HasSubstr("200 rows of training set 1"), HasSubstr("--samples 200 --training-set 1")));
  const TrainingSet set = training_set({}, load_pair(kSpreadPair), 200, 1);
  EXPECT_EQ(load_states(kit + "/train_x0.npy"), set.x0);
  EXPECT_EQ(load_states(kit + "/train_x1.npy"), set.x1);
  const auto said = nlohmann::json::parse(testing::slurp(kit + "/kit.json"));
  EXPECT_EQ(said.at("pair"), kSpreadPair);
  EXPECT_EQ(said.at("samples"), 200);
  EXPECT_EQ(said.at("training_set"), 1);
  const std::string out = (temp.path() / "back.npy").string();
  expect_success(
      {"sample", "--run", run, "--given", kit + "/train_x1.npy", "--reverse", "-o", out});
  EXPECT_EQ(load_states(out).rows(), 200u);
}

TEST(TrainingSetCommands, BadInputIsOneLine) {
  const TempDir temp;
  const std::string run = (temp.path() / "run").string();
  const auto refuses = [](const std::vector<std::string>& arguments, const std::string& text) {
    const testing::ProgramRun ran = run_program(arguments);
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr(text));
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  };
  refuses({"train", "oracle", "--pair", kSpreadPair, "--samples", "10", "-o", run},
          "without samples");
  refuses({"train", "reference", "--pair", kSpreadPair, "--training-set", "1", "-o", run},
          "--samples");
  refuses({"train", "reference", "--pair", kSpreadPair, "--samples", "-1", "-o", run},
          "whole number");
  refuses({"train", "reference", "--pair", kSpreadPair, "--samples", "999999999", "-o", run},
          "samples must be a whole number in 1..");
  refuses({"train", "feature-wise", "--pair", kSpreadPair, "--samples", "10", "--set", "samples=5",
           "-o", run},
          "marginal_samples goes with endless draws");
  refuses({"evaluate", kSpreadPair, "--run", run, "--samples", "10"}, "--run knows its own");
  EXPECT_FALSE(std::filesystem::exists(run));
}

}  // namespace
}  // namespace bridgemark
