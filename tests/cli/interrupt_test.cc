#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bridgemark/io/program/child_process.h"
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
  ChildProcess program(testing::tested_program(), arguments, logs.path() / "out",
                       logs.path() / "err");
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

// Seconds that a process has computed so far.
double computed_seconds(pid_t process) {
  const std::string stat = testing::slurp("/proc/" + std::to_string(process) + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0.0, system = 0.0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Seconds that all processes which this one has waited for have computed.
double waited_for_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Sends the signal to a program that would work for minutes. It must end by it, having computed for
// less than two seconds on each of two threads since: time on a clock would depend on what else
// the machine does.
void expect_quick_end(ChildProcess& program, int signal, const std::string& name) {
  const double waited_for = waited_for_seconds(), computed = computed_seconds(program.id());
  ::kill(program.id(), signal);
  std::optional<int> status;
  while (!(status = program.poll())) usleep(500);
  EXPECT_EQ(*status, 128 + signal) << name;
  EXPECT_LT(waited_for_seconds() - waited_for - computed, 4.0) << name;
}

// A start of many seconds that does not ask whether to stop.
TEST(Interrupt, ATrainingEndsSoon) {
  const TempDir dir, logs;
  const std::string pair = (dir.path() / "pair").string();
  testing::run_program({"build", "custom", "--steps", "1048576", "--categories", "10", "-o", pair});
  ChildProcess program(testing::tested_program(),
                       {"train", "dlightsb-m", "--pair", pair, "-o", (dir.path() / "run").string(),
                        "--set", "num_steps=1048576", "--set", "updates=5", "--threads", "2"},
                       logs.path() / "out", logs.path() / "err");
  while (!program.poll() && computed_seconds(program.id()) < 1.0) usleep(1000);
  expect_quick_end(program, SIGTERM, "dlightsb-m");
}

// Work of minutes that does not ask either: first pairs, very many components, draws.
TEST(Interrupt, LongWorkEndsSoon) {
  const TempDir dir, logs;
  const std::string run = (dir.path() / "run").string();
  const std::vector<std::string> commands[] = {
      {"train", "csbm", "--pair", "d2-gaussian-0.05", "-o", run, "--set", "initial_batch=16384"},
      {"train", "dlightsb", "--pair", "d16-gaussian-0.05", "-o", run, "--set", "components=200000"},
      {"sample", "d16-gaussian-0.05", "--what", "x1", "-n", "10000000", "-o", run + ".npy"}};
  for (std::vector<std::string> arguments : commands) {
    std::filesystem::remove_all(run);
    arguments.insert(arguments.end(), {"--threads", "2"});
    ChildProcess program(testing::tested_program(), arguments, logs.path() / "out",
                         logs.path() / "err");
    while (!program.poll() && computed_seconds(program.id()) < 0.5) usleep(1000);
    expect_quick_end(program, SIGINT, arguments[1]);
    EXPECT_FALSE(std::filesystem::exists(run + ".npy"));
  }
}

// Two trainings in one folder: one is refused, the other's files are its own.
TEST(Interrupt, OneOfTwoTrainingsHasTheFolder) {
  const TempDir dir, logs;
  const auto start = [&](const char* seed, const char* log) {
    return ChildProcess(testing::tested_program(),
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

// Under ulimit -f a write beyond the limit is an error like a full disk.
TEST(Interrupt, AFileLimitIsALine) {
  const TempDir dir;
  const std::string folder = dir.path().string();
  const auto limited = [&](const std::string& arguments) {
    const std::string command = "ulimit -f 64; ASAN_OPTIONS=detect_leaks=0 '" +
                                testing::tested_program() + "' " + arguments + " >/dev/null 2>'" +
                                folder + "/err'";
    const int raw = std::system(("bash -c \"" + command + "\"").c_str());
    const std::string said = testing::slurp(folder + "/err");
    std::filesystem::remove(folder + "/err");
    EXPECT_TRUE(WIFEXITED(raw) && WEXITSTATUS(raw) == 2) << arguments << ": " << raw;
    EXPECT_NE(said.find("bridgemark: "), std::string::npos) << said;
    EXPECT_NE(said.find("File too large"), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  };
  limited("sample d2-gaussian-0.05 --what x1 -n 30000 -o '" + folder + "/x.npy'");
  EXPECT_TRUE(files_below(dir.path()).empty());
  limited("train dlightsb --pair d2-gaussian-0.05 --set updates=3 --set components=300 -o '" +
          folder + "/run'");
  for (const std::string& file : files_below(dir.path())) {
    EXPECT_EQ(file.find(".tmp-"), std::string::npos) << file;
    EXPECT_FALSE(file.ends_with("/lock")) << file;
  }
}

// A run folder is removed while its training goes on, and another training takes its name.
TEST(Interrupt, ATrainingThatLostItsFolderEndsWithALine) {
  const TempDir dir, logs;
  const std::string run = (dir.path() / "run").string();
  ChildProcess first(
      testing::tested_program(),
      {"train", "dlightsb", "--pair", "d2-gaussian-0.05", "-o", run, "--set", "updates=1000000",
       "--set", "components=5", "--set", "batch_size=8", "--set", "log_every=1", "--threads", "1"},
      logs.path() / "out", logs.path() / "err");
  while (!first.poll() && !std::filesystem::exists(run + "/log.jsonl")) usleep(500);
  std::filesystem::rename(run, dir.path() / "moved");
  const testing::ProgramRun second =
      testing::run_program({"train", "oracle", "--pair", "d2-gaussian-0.05", "-o", run});
  EXPECT_EQ(second.status, 0) << second.err;
  std::optional<int> status;
  while (!(status = first.poll())) usleep(500);
  EXPECT_EQ(*status, 2);
  const std::string said = testing::slurp(logs.path() / "err");
  EXPECT_NE(said.find("bridgemark: " + run + ": was removed, moved or replaced"), std::string::npos)
      << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  for (const char* file : {"checkpoint.safetensors", "lock"}) {
    EXPECT_FALSE(std::filesystem::exists(run + "/" + file)) << file;
  }
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "moved" / "lock"));
  testing::expect_success({"evaluate", "d2-gaussian-0.05", "--run", run});
}

}  // namespace
}  // namespace bridgemark
