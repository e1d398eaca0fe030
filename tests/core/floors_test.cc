#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tests/support/places.h"

// The tree is the architecture: an include points to the same floor or to one below.
namespace bridgemark {
namespace {

namespace fs = std::filesystem;

// The umbrella is above them all.
constexpr std::array<std::string_view, 14> kFloors = {
    "core",   "math",   "io",         "backend",    "process", "bridge", "pair",
    "metric", "solver", "experiment", "submission", "verify",  "report", "bridgemark.h"};

const fs::path kSources = testing::source_tree() / "bridgemark";

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
    ASSERT_LT(own, kFloors.size()) << file << " is on no floor";
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

// Stems of files in backend/cpu and backend/cuda, but for what a device has of its own kind alone:
// instructions, streams and device functions.
std::set<std::string> stems_of(const std::string& device) {
  std::set<std::string> stems;
  const fs::path folder = kSources / "backend" / device;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string room = fs::relative(entry.path(), folder).begin()->string();
    if (!entry.is_regular_file() || entry.path().extension() == ".txt") continue;
    if (room == "simd" || room == "runtime" || room == "device") continue;
    stems.insert(entry.path().stem());
  }
  return stems;
}

// What has no file of its stem on the other device, and why.
const std::map<std::string_view, std::string_view> kOfOneDevice = {
    {"cpu_backend", "the device itself"},
    {"cuda_backend", "the device itself"},
    // cpu/
    {"step_marginals", "a GPU has the marginals beside the draws, in bridge_step"},
    {"chain_loss", "a GPU has it in parts: chain_passes, chain_moves"},
    {"tree_loss", "the CPU alone trains trees"},
    {"tree_passes", "likewise"},
    {"component_weights", "a GPU has them in a tile's shared memory: cp_tiles"},
    {"core_propagation", "likewise"},
    {"exact_column", "likewise"},
    {"rank_one_powers", "a GPU multiplies by the dense powers"},
    {"rank_one_product", "likewise"},
    {"matching_bands", "a GPU multiplies by the dense powers"},
    {"matching_factor", "a GPU has it in matching_forward and matching_backward"},
    {"matching_source", "likewise"},
    {"matching_weights", "likewise"},
    {"transition_loss", "a GPU has it in matching_rows"},
    {"network_forward", "a GPU has it in network_update and network_chain"},
    {"network_math", "a GPU has it in device/network_draw.h"},
    {"optimizer", "a GPU has it in device/adamw.h, inside other kernels"},
    {"finite_values", "a GPU has it in runtime/"},
    // cuda/
    {"bridge_tables", "tables that stay on the GPU"},
    {"log_product", "the kernel of log_matmul, for tables that stay there"},
    {"device_source", "a source that stays on the GPU"},
    {"source_rows", "its rows, drawn where they are used"},
    {"row_sampler", "a source kept for any stream"},
    {"tree_states", "the CPU has a row's sums and draws where it uses them: bridge_step"},
    {"chain_moves", "the part of chain_loss that updates the moves"},
    {"chain_view", "where a training's arrays lie on the GPU"},
    {"cp_view", "likewise"},
    {"network_view", "likewise"},
    {"device_network", "likewise"},
    {"cp_tiles", "the parts of static_loss that work on a tile"},
    {"cp_bookkeeping", "what an update counts and measures on the GPU"},
    {"rank_sums", "sums over ranks in the order of a stream; the CPU's are in ranks/"},
    {"matching_steps", "the launches of matching_loss"},
    {"matching_tiles", "the parts of matching_loss that work on a tile"},
    {"matching_forward", "a kernel of matching_loss"},
    {"matching_backward", "a kernel of matching_loss"},
    {"fitted_network", "the operations of a network that stays on the GPU"},
    {"network_update", "what surrounds the layers, in kernels of their own"},
    {"network_cluster", "network_chain in one kernel, by a cluster of multiprocessors"},
    {"cluster_layers", "its layers"},
    {"cluster_layout", "its shared memory"},
    {"cluster_walk", "its steps"},
    {"half_product", "its last layer"},
    {"sample_counts", "metric/ has the counts of states of the host"},
};

// The same operation has the same file name on each device, so that a reader finds the other one.
TEST(Floors, DevicesNameTheirFilesAlike) {
  const std::set<std::string> cpu = stems_of("cpu"), cuda = stems_of("cuda");
  for (const auto& [own, other] : {std::pair{&cpu, &cuda}, std::pair{&cuda, &cpu}}) {
    for (const std::string& stem : *own) {
      EXPECT_NE(other->contains(stem), kOfOneDevice.contains(stem))
          << stem << " must be in backend/cpu and backend/cuda, or in the list with its reason";
    }
  }
  for (const auto& [stem, reason] : kOfOneDevice) {
    const std::string name(stem);
    EXPECT_TRUE(cpu.contains(name) || cuda.contains(name)) << stem << " is in the list alone";
  }
}

// A source that has a header finds it in its own folder.
TEST(Floors, HeadersLieBesideTheirSources) {
  each_include([](const std::string& file, const std::string& included) {
    const fs::path source(file), header(included);
    if (source.extension() == ".h" || source.stem() != header.stem()) return;
    EXPECT_EQ(source.parent_path(), header.parent_path()) << file << " includes " << included;
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

// The code that solvers share knows none of them; the registry is above them all.
TEST(Floors, SolversStandOnTheirCore) {
  each_include([](const std::string& file, const std::string& included) {
    if (!file.starts_with("solver/core/") || !included.starts_with("solver/")) return;
    EXPECT_TRUE(included.starts_with("solver/core/")) << file << " includes " << included;
  });
}

}  // namespace
}  // namespace bridgemark
