#include "bridgemark/experiment/grid/device_sharing.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/paths.h"

namespace bridgemark {

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kControl[] = "nvidia-cuda-mps-control";
constexpr char kFolderVariable[] = "CUDA_MPS_PIPE_DIRECTORY";
constexpr char kUsualFolder[] = "/tmp/nvidia-mps";
constexpr char kSocket[] = "control";  // there while a service listens in its folder
// The service's own, with our process id: a short path, since a socket's has at most 107
// characters.
constexpr char kFolder[] = "/tmp/bridgemark-mps-";
constexpr auto kPatience = std::chrono::seconds(10);
constexpr auto kServicePollInterval = std::chrono::milliseconds(20);

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// The program of that name in the folders of PATH; empty where there is none.
std::filesystem::path find_program(const char* name) {
  const std::string path = variable("PATH");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::filesystem::path program =
        std::filesystem::path(path.substr(begin, end - begin)) / name;
    if (program.is_absolute() && path_exists(program)) return program;
    begin = end + 1;
  }
  return {};
}

// Takes away the folders of processes that were killed.
void sweep_folders() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/tmp", ignored)) {
    const std::string name = entry.path().string();
    if (!name.starts_with(kFolder)) continue;
    const long owner = std::strtol(name.c_str() + sizeof(kFolder) - 1, nullptr, 10);
    const bool gone = owner > 0 && kill(static_cast<pid_t>(owner), 0) != 0 && errno == ESRCH;
    if (gone) std::filesystem::remove_all(entry.path(), ignored);
  }
}

// Waits until `done` says so; false where it does not in time.
template <typename Done>
bool wait_for(Done&& done) {
  const auto limit = Clock::now() + kPatience;
  while (!done()) {
    if (Clock::now() > limit) return false;
    std::this_thread::sleep_for(kServicePollInterval);
  }
  return true;
}

}  // namespace

DeviceSharing::DeviceSharing() {
  const std::string given = variable(kFolderVariable);
  const std::filesystem::path usual = given.empty() ? kUsualFolder : given;
  if (path_exists(usual / kSocket)) {
    environment_ = {std::string(kFolderVariable) + "=" + usual.string()};
    return;
  }
  const std::filesystem::path control = find_program(kControl);
  if (control.empty()) {
    problem_ = std::string(kControl) + " is not installed";
    return;
  }
  start(control);
}

void DeviceSharing::start(const std::filesystem::path& control) {
  sweep_folders();
  std::string name = kFolder + std::to_string(getpid()) + "-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    problem_ = "no folder can be made in /tmp";
    return;
  }
  folder_ = name;
  environment_ = {std::string(kFolderVariable) + "=" + name, "CUDA_MPS_LOG_DIRECTORY=" + name};
  const std::filesystem::path log = folder_ / "service.txt";
  try {
    service_ = std::make_unique<ChildProcess>(control, std::vector<std::string>{"-f"}, log, log,
                                              environment_);
  } catch (const Error& error) {
    problem_ = error.what();
    return;
  }
  control_ = control;
  const bool listens =
      wait_for([&] { return service_->poll().has_value() || path_exists(folder_ / kSocket); });
  if (!listens || service_->poll()) problem_ = std::string(kControl) + " does not start here";
}

DeviceSharing::~DeviceSharing() {
  if (folder_.empty()) return;
  if (service_ && !service_->poll()) {
    try {
      const std::filesystem::path log = folder_ / "quit.txt";
      ChildProcess quit("/bin/sh", {"-c", "echo quit | \"$0\"", control_.string()}, log, log,
                        environment_);
      wait_for([&] { return quit.poll() && service_->poll(); });
    } catch (const Error&) {
      // It is killed below, as it would be with this process.
    }
  }
  service_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace bridgemark
