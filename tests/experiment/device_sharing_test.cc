#include "bridgemark/experiment/grid/device_sharing.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

// A stand-in for NVIDIA's program: `-f` listens until another call hands it "quit".
constexpr char kService[] = R"(#!/bin/sh
here=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -f ]; then
  echo $$ >"$PIDS/service"
  : >"$here/control"
  while [ ! -e "$here/quit" ]; do sleep 0.02; done
else
  read command
  [ "$command" = quit ] && : >"$here/quit"
fi
)";

constexpr char kBroken[] = "#!/bin/sh\nexit 1\n";

class DeviceSharingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::getenv("PATH");
    setenv("PATH", (dir_.path().string() + ":/bin:/usr/bin").c_str(), 1);
    setenv("PIDS", dir_.path().c_str(), 1);
    // Where no service of this machine's listens.
    setenv("CUDA_MPS_PIPE_DIRECTORY", (dir_.path() / "none").c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("PIDS");
    unsetenv("CUDA_MPS_PIPE_DIRECTORY");
  }

  void install(const char* script) {
    const std::filesystem::path program = dir_.path() / "nvidia-cuda-mps-control";
    std::ofstream(program) << script;
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }

  pid_t service() const {
    pid_t id = 0;
    std::ifstream(dir_.path() / "service") >> id;
    return id;
  }

  std::string folder_of(const DeviceSharing& sharing) const {
    const std::string& first = sharing.environment().at(0);
    return first.substr(first.find('=') + 1);
  }

  testing::TempDir dir_;
  std::string path_;
};

TEST_F(DeviceSharingTest, StartsAServiceAndEndsIt) {
  install(kService);
  std::string folder;
  {
    const DeviceSharing sharing;
    EXPECT_TRUE(sharing.works()) << sharing.problem();
    folder = folder_of(sharing);
    EXPECT_TRUE(std::filesystem::exists(folder + "/control"));
    EXPECT_EQ(kill(service(), 0), 0);
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_NE(kill(service(), 0), 0);
}

TEST_F(DeviceSharingTest, TakesAwayWhatAKilledProcessLeft) {
  install(kService);
  // No process has this id: the largest that Linux gives is 2^22.
  const std::filesystem::path left = "/tmp/bridgemark-mps-4194305-aaaaaa";
  std::filesystem::create_directories(left);
  const DeviceSharing sharing;
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(folder_of(sharing)));
}

TEST_F(DeviceSharingTest, UsesTheServiceThatRuns) {
  install(kBroken);
  std::ofstream(dir_.path() / "control") << "";
  setenv("CUDA_MPS_PIPE_DIRECTORY", dir_.path().c_str(), 1);
  {
    const DeviceSharing sharing;
    EXPECT_TRUE(sharing.works()) << sharing.problem();
    EXPECT_EQ(folder_of(sharing), dir_.path().string());
  }
  EXPECT_TRUE(std::filesystem::exists(dir_.path() / "control"));
}

TEST_F(DeviceSharingTest, SaysWhyNot) {
  EXPECT_EQ(DeviceSharing().problem(), "nvidia-cuda-mps-control is not installed");
  install(kBroken);
  const DeviceSharing sharing;
  EXPECT_FALSE(sharing.works());
  EXPECT_EQ(sharing.problem(), "nvidia-cuda-mps-control does not start here");
}

}  // namespace
}  // namespace bridgemark
