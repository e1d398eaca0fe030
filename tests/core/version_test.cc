#include "bridgemark/core/version.h"
#include "tests/support/places.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

// CMakeLists.txt has the version; the Python package reads it there. Files that no tool fills
// in must say the same.
namespace bridgemark {
namespace {

const std::filesystem::path kRoot = testing::source_tree();

// The first line of a file that starts like this; empty where there is none.
std::string first_line(const char* file, std::string_view start) {
  std::ifstream in(kRoot / file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(start)) return line;
  }
  return {};
}

TEST(Version, IsTheSameEverywhere) {
  EXPECT_EQ(kVersion, fmt::format("{}.{}.{}", BRIDGEMARK_VERSION_MAJOR, BRIDGEMARK_VERSION_MINOR,
                                  BRIDGEMARK_VERSION_PATCH));
  EXPECT_EQ(first_line("CITATION.cff", "version:"), fmt::format("version: {}", kVersion));
  const std::string newest = fmt::format("## [{}] - ", kVersion);
  EXPECT_EQ(first_line("CHANGELOG.md", "## ").substr(0, newest.size()), newest);
  EXPECT_EQ(first_line("pyproject.toml", "version ="), "") << "dynamic, from CMakeLists.txt";
  EXPECT_EQ(first_line("pyproject.toml", "input ="), "input = \"CMakeLists.txt\"");
}

}  // namespace
}  // namespace bridgemark
