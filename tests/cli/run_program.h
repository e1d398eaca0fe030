#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/io/io_testing.h"
#include "tests/support/places.h"
#include "tests/support/temp_dir.h"

namespace bridgemark::testing {

struct ProgramRun {
  int status = -1;  // exit status, -1 if the program ended by a signal
  std::string out;
  std::string err;
};

// Runs the program with `arguments` in a process of its own. A sanitized build does not look for
// leaks there: that would take longer than all it does, and the tests in this process look.
inline ProgramRun run_program(const std::vector<std::string>& arguments) {
  const TempDir capture;
  std::string command = "ASAN_OPTIONS=\"detect_leaks=0:$ASAN_OPTIONS\" '" + tested_program() + "'";
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  command += " >'" + (capture.path() / "out").string() + "' 2>'" +
             (capture.path() / "err").string() + "' </dev/null";
  const int raw = std::system(command.c_str());
  return {WIFEXITED(raw) ? WEXITSTATUS(raw) : -1, slurp(capture.path() / "out"),
          slurp(capture.path() / "err")};
}

// Succeeds and prints nothing on standard error; returns its output.
inline std::string expect_success(const std::vector<std::string>& arguments) {
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return run.out;
}

// Every path below a folder.
inline std::set<std::string> files_below(const std::filesystem::path& folder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    files.insert(entry.path().string());
  }
  return files;
}

}  // namespace bridgemark::testing
