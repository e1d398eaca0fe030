#include "bridgemark/solver/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/json.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/solver/run/run_result.h"
#include "tests/io/io_testing.h"
#include "tests/support/run_folder.h"
#include "tests/support/small_pair.h"

// Whose a run's folder is: other runs, other processes, other places.
namespace bridgemark {
namespace {

using testing::error_of;
using testing::read_text;
using testing::write_text;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using RunFolderTest = testing::RunTest;

TEST_F(RunFolderTest, OccupiedFolderIsRefused) {
  train(config("reference"));
  const std::string before = read_text(run_path() / "result.json");
  EXPECT_THAT(train_error(config("reference")),
              AllOf(HasSubstr("run"), HasSubstr("already holds a run"), HasSubstr("resume it")));
  EXPECT_EQ(read_text(run_path() / "result.json"), before);
}

TEST_F(RunFolderTest, OneRunAtATimeWorksInAFolder) {
  std::filesystem::create_directory(run_path());
  {
    const FolderLock lock(run_path());
    EXPECT_THAT(train_error(config("reference")), HasSubstr("another bridgemark run is at work"));
    const Fitted fitted = testing::fit_solver("reference", pair());
    EXPECT_THAT(error_of<Error>(
                    [&] { save_run({}, config("reference"), pair(), fitted, 1.0, run_path()); }),
                HasSubstr("another bridgemark run is at work"));
  }
  train(config("reference"));
  EXPECT_FALSE(std::filesystem::exists(run_path() / "lock"));
}

// While a run trains, its folder is removed and another process makes a run of that name.
TEST_F(RunFolderTest, AReplacedFolderGetsNothingOfTheRunThatLostIt) {
  RunConfig first = config("dlightsb"), second = config("reference");
  first.options = {{"updates", "64"}, {"components", "3"}, {"batch_size", "4"}, {"log_every", "1"}};
  bool replaced = false;
  const Context context{
      .num_threads = 1,
      .progress = [&](std::string_view, std::uint64_t done, std::uint64_t, std::string_view) {
        if (replaced || done < 16) return;
        replaced = true;
        const pid_t other = fork();
        if (other == 0) {
          std::filesystem::remove_all(run_path());
          train_run({.num_threads = 1}, second, run_path(), false);
          _exit(0);
        }
        waitpid(other, nullptr, 0);
      }};
  EXPECT_THAT(error_of<FolderLost>([&] { train_run(context, first, run_path(), false); }),
              AllOf(HasSubstr(run_path().string()), HasSubstr("replaced")));
  EXPECT_EQ(load_run_config(run_path()).solver, "reference");
  EXPECT_FALSE(std::filesystem::exists(run_path() / "checkpoint.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(run_path() / "lock"));
  EXPECT_NO_THROW(load_run({}, pair(), run_path()));
}

// A run finds its pair from another folder, and where the two have moved together or one of them
// alone has.
TEST_F(RunFolderTest, FindsItsPairWhereverItIsReadFrom) {
  namespace fs = std::filesystem;
  const fs::path here = fs::current_path(), project = dir_.path() / "project";
  fs::create_directory(project);
  fs::rename(pair_path(), project / "pair");
  fs::create_directory(dir_.path() / "elsewhere");
  fs::current_path(project);
  RunConfig given = config("reference");
  given.pair = "pair";
  train_run({}, given, "run", false);
  fs::current_path(dir_.path() / "elsewhere");
  EXPECT_EQ(load_whole_run({}, "../project/run").problem.name(), "small");
  given.pair = "../project/pair";
  EXPECT_NO_THROW(train_run({}, given, "../project/run", true));  // the same place by another name
  fs::copy(project / "run", dir_.path() / "run", fs::copy_options::recursive);
  EXPECT_NO_THROW(load_whole_run({}, run_path()));  // by the whole path
  fs::rename(project, dir_.path() / "moved");
  EXPECT_NO_THROW(load_whole_run({}, "../moved/run"));  // by the path from the run
  EXPECT_THAT(error_of<Error>([&] { load_whole_run({}, run_path()); }),
              AllOf(HasSubstr("its pair"), HasSubstr((project / "pair").string())));
  // Another pair of that place is not taken for it.
  PairSpec other = testing::small_spec();
  other.seed = 77;
  fs::create_directory(project);
  write_pair_folder({}, testing::pair_with_test_set(other, 200), project / "pair");
  EXPECT_THAT(error_of<Error>([&] { load_whole_run({}, run_path()); }), HasSubstr("its pair"));
  fs::current_path(here);
}

TEST_F(RunFolderTest, FilesOfTwoRunsAreNotMixed) {
  RunConfig trained = config("dlightsb");
  trained.options = {{"updates", "4"}, {"components", "3"}, {"batch_size", "4"}};
  train(trained);
  const std::string identity = load_run_config(run_path()).identity;
  EXPECT_EQ(identity.size(), 32u);
  EXPECT_EQ(load_run_result(run_path()).at("run_identity"), identity);
  const auto other = dir_.path() / "other";
  train_run({}, trained, other, false);
  for (const char* file : {"config.toml", "result.json"}) {
    const std::string own = read_text(run_path() / file);
    write_text(run_path() / file, read_text(other / file));
    const auto refused = AllOf(HasSubstr(identity), HasSubstr("files of two runs"));
    EXPECT_THAT(load_error(), refused) << file;
    EXPECT_THAT(error_of<Error>([&] { load_whole_run({}, run_path()); }), refused) << file;
    EXPECT_THAT(train_error(trained, true), refused) << file;
    write_text(run_path() / file, own);
  }
  std::filesystem::remove(run_path() / "result.json");  // it would go on from the other's
  write_text(run_path() / "checkpoint.safetensors", read_text(other / "checkpoint.safetensors"));
  EXPECT_THAT(train_error(trained, true),
              AllOf(HasSubstr("checkpoint.safetensors"), HasSubstr("files of two runs")));
}

TEST_F(RunFolderTest, AModelIsTheOneOfItsResult) {
  RunConfig trained = config("dlightsb");
  trained.options = {{"updates", "4"}, {"components", "3"}, {"batch_size", "4"}};
  train(trained);
  trained.seed = 6;
  train_run({}, trained, dir_.path() / "other", false);
  write_text(run_path() / "model.safetensors",
             read_text(dir_.path() / "other" / "model.safetensors"));
  EXPECT_THAT(load_error(), AllOf(HasSubstr("model.safetensors"), HasSubstr("fingerprint")));
}

// As versions before 0.2 left it.
TEST_F(RunFolderTest, AFolderWithoutARunsIdentityLoads) {
  train(config("feature-wise"));
  RunConfig before = load_run_config(run_path());
  before.identity.clear();
  save_run_config(before, run_path());
  nlohmann::json result = load_run_result(run_path());
  result.erase("run_identity");
  result.erase("model_fingerprint");
  save_json(run_path() / "result.json", result);
  EXPECT_NO_THROW(load_run({}, pair(), run_path()));
  EXPECT_NO_THROW(load_whole_run({}, run_path()));
  train(config("feature-wise"), true);
  EXPECT_THAT(read_text(run_path() / "config.toml"), Not(HasSubstr("run_identity")));
  std::filesystem::remove(run_path() / "result.json");
  train(config("feature-wise"), true);
  EXPECT_NO_THROW(load_run({}, pair(), run_path()));
}

TEST_F(RunFolderTest, ResultsOfNoRunAreLeftAlone) {
  std::filesystem::create_directory(run_path());
  write_text(run_path() / "result.json", "{}");
  EXPECT_THAT(train_error(config("reference"), true), HasSubstr("result.json but no config.toml"));
  EXPECT_EQ(read_text(run_path() / "result.json"), "{}");
}

TEST_F(RunFolderTest, WhatAKilledRunLeftIsSwept) {
  std::filesystem::create_directory(run_path());
  const auto stale = run_path() / ".checkpoint.safetensors.tmp-ab12cd";
  for (const auto& path : {stale, run_path() / ".notes.tmp-ab12cd", run_path() / ".mine"}) {
    write_text(path, "x");
  }
  train(config("reference"));
  EXPECT_FALSE(std::filesystem::exists(stale));
  EXPECT_TRUE(std::filesystem::exists(run_path() / ".notes.tmp-ab12cd"));
  EXPECT_TRUE(std::filesystem::exists(run_path() / ".mine"));
}

}  // namespace
}  // namespace bridgemark
