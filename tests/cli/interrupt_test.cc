#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bridgemark/experiment/child_process.h"
#include "tests/cli/run_program.h"
#include "tests/support/temp_dir.h"

// Programs that are stopped while they write.
namespace bridgemark {
namespace {

using testing::files_below;
using testing::TempDir;

// Starts the program, sends the signal as soon as a temporary file is there, and returns the
// status.
int stop_while_writing(const std::vector<std::string>& arguments, const TempDir& dir, int signal) {
  const TempDir logs;
  ChildProcess program(BRIDGEMARK_PROGRAM, arguments, logs.path() / "out", logs.path() / "err");
  bool sent = false;
  std::optional<int> status;
  while (!(status = program.poll())) {
    for (const std::string& file : files_below(dir.path())) {
      if (sent || file.find(".tmp-") == std::string::npos) continue;
      ::kill(program.id(), signal);
      sent = true;
    }
    usleep(200);
  }
  EXPECT_TRUE(sent) << "was done before it could be stopped";
  return *status;
}

TEST(Interrupt, LeavesNoTemporaryFile) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const TempDir dir;
    EXPECT_EQ(stop_while_writing({"sample", "d64-gaussian-0.02", "--what", "x1", "-n", "3000000",
                                  "-o", (dir.path() / "x.npy").string()},
                                 dir, signal),
              128 + signal);
    EXPECT_TRUE(files_below(dir.path()).empty());
  }
}

// A start of many seconds that does not ask whether to stop.
TEST(Interrupt, ATrainingEndsWithinASecond) {
  const TempDir dir, logs;
  const std::string pair = (dir.path() / "pair").string();
  testing::run_program({"build", "custom", "--steps", "1048576", "--categories", "10", "-o", pair});
  ChildProcess program(BRIDGEMARK_PROGRAM,
                       {"train", "dlightsb-m", "--pair", pair, "-o", (dir.path() / "run").string(),
                        "--set", "num_steps=1048576", "--set", "updates=5"},
                       logs.path() / "out", logs.path() / "err");
  usleep(1500000);
  ASSERT_FALSE(program.poll());
  program.terminate();
  const auto sent = std::chrono::steady_clock::now();
  std::optional<int> status;
  while (!(status = program.poll())) usleep(500);
  EXPECT_LT(std::chrono::steady_clock::now() - sent, std::chrono::seconds(2));
  EXPECT_EQ(*status, 128 + SIGTERM);
}

// Work of minutes that does not ask either: first pairs, very many components, draws.
TEST(Interrupt, LongWorkEndsWithinASecond) {
  const TempDir dir, logs;
  const std::string run = (dir.path() / "run").string();
  const std::vector<std::string> commands[] = {
      {"train", "csbm", "--pair", "d2-gaussian-0.05", "-o", run, "--set", "initial_batch=16384"},
      {"train", "dlightsb", "--pair", "d16-gaussian-0.05", "-o", run, "--set", "components=200000"},
      {"sample", "d16-gaussian-0.05", "--what", "x1", "-n", "10000000", "-o", run + ".npy"}};
  for (const std::vector<std::string>& arguments : commands) {
    std::filesystem::remove_all(run);
    ChildProcess program(BRIDGEMARK_PROGRAM, arguments, logs.path() / "out", logs.path() / "err");
    usleep(1000000);
    ASSERT_FALSE(program.poll()) << testing::slurp(logs.path() / "err");
    ::kill(program.id(), SIGINT);
    const auto sent = std::chrono::steady_clock::now();
    std::optional<int> status;
    while (!(status = program.poll())) usleep(500);
    EXPECT_LT(std::chrono::steady_clock::now() - sent, std::chrono::seconds(2)) << arguments[1];
    EXPECT_EQ(*status, 128 + SIGINT) << arguments[1];
    EXPECT_FALSE(std::filesystem::exists(run + ".npy"));
  }
}

// Two trainings in one folder: one is refused, the other's files are its own.
TEST(Interrupt, OneOfTwoTrainingsHasTheFolder) {
  const TempDir dir, logs;
  const auto start = [&](const char* seed, const char* log) {
    return ChildProcess(BRIDGEMARK_PROGRAM,
                        {"train", "dlightsb", "--pair", "d2-gaussian-0.05", "-o",
                         (dir.path() / "run").string(), "--seed", seed, "--set", "updates=200",
                         "--set", "components=20", "--set", "batch_size=16", "--threads", "1"},
                        logs.path() / "out", logs.path() / log);
  };
  const auto wait = [](ChildProcess& program) {
    std::optional<int> status;
    while (!(status = program.poll())) usleep(500);
    return *status;
  };
  for (int trial = 0; trial < 8; ++trial) {
    std::filesystem::remove_all(dir.path() / "run");
    ChildProcess first = start("1", "first"), second = start("2", "second");
    const std::set<int> statuses = {wait(first), wait(second)};
    EXPECT_EQ(statuses, (std::set<int>{0, 2}))
        << testing::slurp(logs.path() / "first") << testing::slurp(logs.path() / "second");
  }
}

}  // namespace
}  // namespace bridgemark
