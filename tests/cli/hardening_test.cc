#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/places.h"

// How the program was linked and what its readers were compiled with.
namespace bridgemark {
namespace {

bool finds(const std::string& command, const std::string& pattern) {
  return std::system((command + " '" + testing::tested_program() + "' | grep -q '" + pattern + "'")
                         .c_str()) == 0;
}

TEST(Hardening, ProgramIsBuiltWithIt) {
#if defined(BRIDGEMARK_TEST_SANITIZED) || !defined(__linux__)
  GTEST_SKIP() << "of the optimised build on Linux";
#endif
  EXPECT_TRUE(finds("readelf -lW", "GNU_RELRO"));
  EXPECT_TRUE(finds("readelf -dW", "NOW"));
  EXPECT_TRUE(finds("readelf -hW", "DYN")) << "at an address of its own each time";
  EXPECT_TRUE(finds("nm -D", "__stack_chk_fail"));
}

}  // namespace
}  // namespace bridgemark
