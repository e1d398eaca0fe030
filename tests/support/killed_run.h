#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "bridgemark/solver/run/run.h"

namespace bridgemark::testing {

// Calls train(context) in a process that is killed (kill -9) again and again, each time a little
// later; then lets it end.
template <typename Train>
void end_through_kills(const Train& train, int kills) {
  // One thread: a forked process has none of its parent's others.
  const Context context{.num_threads = 1};
  for (int i = 0; i < kills; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        train(context);
      } catch (...) {
        _exit(1);
      }
      _exit(0);
    }
    usleep(static_cast<useconds_t>(20000 + 20000 * i));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  }
  train(context);
}

// The same of a run that goes on from what is in its folder.
inline void train_through_kills(const RunConfig& config, const std::filesystem::path& folder,
                                int kills) {
  end_through_kills([&](const Context& context) { train_run(context, config, folder, true); },
                    kills);
}

}  // namespace bridgemark::testing
