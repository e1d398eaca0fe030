#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"

// A challenge at the command line, up to its reveal; tests/submission/challenge_test.cc has what is
// checked and why.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::expect_success;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_program;
using testing::slurp;

TEST(ChallengeCommand, FromTheChallengeToItsKits) {
  const testing::TempDir dir;
  const auto path = [&](const std::string& name) { return (dir.path() / name).string(); };
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& says) {
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr(says));
  };
  refused({"challenge"}, "see bridgemark challenge --help");
  expect_success({"challenge", "new", "--pair", "d2-gaussian-0.02-spread", "--instances", "2",
                  "--samples", "20", "--closes", "tonight", "--value-from", "dice", "-o",
                  path("spring")});
  refused({"challenge", "reveal", path("spring"), "--value", "4"}, "there must be commitments");
  testing::put(path("solver.py"), "print('learn')\n");
  const std::string committed =
      expect_success({"challenge", "commit", path("spring"), "--label", "Mine", "--files",
                      path("solver.py"), "-o", path("secret.json")});
  EXPECT_THAT(slurp(path("spring") + "/commitments.jsonl"),
              AllOf(HasSubstr(committed.substr(0, 64)), HasSubstr("Mine")));
  EXPECT_THAT(slurp(path("secret.json")), HasSubstr("solver.py"));

  const std::string revealed = expect_success(
      {"challenge", "reveal", path("spring"), "--value", "4", "--kits", path("kits")});
  EXPECT_THAT(revealed, AllOf(HasSubstr("d2-gaussian-0.02-spread-i"), HasSubstr("--samples 20"),
                              HasSubstr("seed ")));
  EXPECT_TRUE(std::filesystem::exists(path("kits") + "/2/train_x1.npy"));
  refused({"challenge", "reveal", path("spring"), "--value", "5"}, "value must be '4'");
  refused({"challenge", "commit", path("spring"), "--label", "Late", "--files", path("solver.py"),
           "-o", path("late.json")},
          "commitments are closed");
  EXPECT_FALSE(std::filesystem::exists(path("late.json")));
}

}  // namespace
}  // namespace bridgemark
