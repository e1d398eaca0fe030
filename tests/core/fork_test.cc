#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "bridgemark/core/parallel.h"

namespace bridgemark {
namespace {

std::size_t sum_in_blocks(const Context& context) {
  std::atomic<std::size_t> sum = 0;
  parallel_blocks(context, 1000, 1, [&](std::size_t first, std::size_t) { sum += first; });
  return sum;
}

// A process that is forked after threads were at work has none of them, and waits for none.
TEST(Fork, AfterThreadsWorksOnOne) {
  const Context context{.num_threads = 4};
  EXPECT_EQ(sum_in_blocks(context), 499500u);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // a process that waits for ever ends by it
    _exit(context.threads() == 1 && sum_in_blocks(context) == 499500u ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(context.threads(), 4);
}

}  // namespace
}  // namespace bridgemark
