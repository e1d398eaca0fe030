#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bridgemark/io/program/child_process.h"

namespace bridgemark {

// Lets processes work on one GPU at the same time, by NVIDIA's Multi-Process Service: without it a
// GPU serves one process at a time. Where a service runs already it is used, else one of our own is
// started in a folder of its own and ended with this object.
class DeviceSharing {
 public:
  DeviceSharing();
  ~DeviceSharing();
  DeviceSharing(const DeviceSharing&) = delete;
  DeviceSharing& operator=(const DeviceSharing&) = delete;

  bool works() const { return problem_.empty(); }
  const std::string& problem() const { return problem_; }  // why it does not

  // What processes that are to share it have in their environment, as NAME=value.
  const std::vector<std::string>& environment() const { return environment_; }

 private:
  void start(const std::filesystem::path& control);

  std::string problem_;
  std::vector<std::string> environment_;
  std::filesystem::path control_;  // the program, where the service is ours
  std::filesystem::path folder_;
  std::unique_ptr<ChildProcess> service_;
};

}  // namespace bridgemark
