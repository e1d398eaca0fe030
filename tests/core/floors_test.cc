#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>

// The tree is the architecture: an include points to the same floor or to one below.
namespace bridgemark {
namespace {

namespace fs = std::filesystem;

// The umbrella stands above them all.
constexpr std::array<std::string_view, 14> kFloors = {
    "core",   "math",   "io",         "backend",    "process", "bridge", "pair",
    "metric", "solver", "experiment", "submission", "verify",  "report", "bridgemark.h"};

const fs::path kSources = fs::path(BRIDGEMARK_TEST_DATA) / "../../bridgemark";

std::size_t floor_number(std::string_view name) {
  return static_cast<std::size_t>(std::find(kFloors.begin(), kFloors.end(), name) -
                                  kFloors.begin());
}

// Calls visit(file relative to bridgemark/, what it includes of bridgemark/).
template <typename Visit>
void each_include(Visit&& visit) {
  constexpr std::string_view kInclude = "#include \"bridgemark/";
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kSources)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cc" && extension != ".cu") continue;
    const std::string file = fs::relative(entry.path(), kSources).generic_string();
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with(kInclude)) continue;
      visit(file, line.substr(kInclude.size(), line.rfind('"') - kInclude.size()));
    }
  }
}

// What the umbrella reaches: the headers that are installed.
std::set<std::string> public_headers() {
  std::set<std::string> reached = {"bridgemark.h"};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    each_include([&](const std::string& file, const std::string& included) {
      if (reached.contains(file)) reached.insert(included);
    });
  }
  return reached;
}

std::string floor_of(const std::string& path) { return path.substr(0, path.find('/')); }

TEST(Floors, IncludesPointDown) {
  std::size_t seen = 0;
  each_include([&](const std::string& file, const std::string& included) {
    ++seen;
    const std::size_t own = floor_number(floor_of(file)), other = floor_number(floor_of(included));
    ASSERT_LT(own, kFloors.size()) << file << " stands on no floor";
    EXPECT_LE(other, own) << file << " includes " << included;
  });
  EXPECT_GT(seen, 500u);
}

TEST(Floors, DevicesDoNotKnowEachOther) {
  each_include([](const std::string& file, const std::string& included) {
    const bool from_cpu = file.starts_with("backend/cpu/");
    const bool from_cuda = file.starts_with("backend/cuda/");
    EXPECT_FALSE(from_cpu && included.starts_with("backend/cuda/")) << file;
    EXPECT_FALSE(from_cuda && included.starts_with("backend/cpu/")) << file;
    if (file.starts_with("backend/cuda/device/")) {
      EXPECT_TRUE(included.starts_with("math/") || included.starts_with("backend/cuda/device/"))
          << file << " includes " << included;
    }
  });
}

// Above the backend an operation is asked of a context, never of a device's own namespace.
TEST(Floors, OnlyTheBackendNamesADevice) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kSources)) {
    const std::string file = fs::relative(entry.path(), kSources).generic_string();
    if (!entry.is_regular_file() || file.starts_with("backend/")) continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      for (const char* name : {"cuda::", "cpu::", "backend/cuda", "backend/cpu"}) {
        EXPECT_EQ(line.find(name), std::string::npos) << file << ": " << line;
      }
    }
  }
}

TEST(Floors, PublicHeadersHideJsonAndKernels) {
  const std::set<std::string> headers = public_headers();
  EXPECT_TRUE(headers.contains("core/context.h"));
  for (const std::string& header : headers) {
    EXPECT_NE(floor_of(header), "backend") << "bridgemark.h reaches " << header;
    std::ifstream in(kSources / header);
    for (std::string line; std::getline(in, line);) {
      for (const char* library : {"nlohmann", "Eigen", "hwy", "toml++", "cuda"}) {
        EXPECT_FALSE(line.starts_with("#include <" + std::string(library)))
            << header << ": " << line;
      }
    }
  }
}

// Folders of the library are rooms that a reader can take in at a glance.
TEST(Floors, NoRoomHoldsMoreThanFortyFiles) {
  std::map<std::string, int> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kSources)) {
    if (entry.is_regular_file()) ++files[entry.path().parent_path().generic_string()];
  }
  for (const auto& [room, count] : files) EXPECT_LE(count, 40) << room;
}

// What solvers share knows none of them; the registry stands on top of all.
TEST(Floors, SolversStandOnTheirCore) {
  each_include([](const std::string& file, const std::string& included) {
    if (!file.starts_with("solver/core/") || !included.starts_with("solver/")) return;
    const bool in_core = included.starts_with("solver/core/");
    const bool looks_up = file == "solver/core/run.cc" && included == "solver/registry.h";
    EXPECT_TRUE(in_core || looks_up) << file << " includes " << included;
  });
}

}  // namespace
}  // namespace bridgemark
