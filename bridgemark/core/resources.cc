#include "bridgemark/core/resources.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <fstream>
#include <thread>

namespace bridgemark {

namespace {

// x86 kernels name the model; Arm kernels give numbers only.
std::string processor_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line, implementer, part;
  while (std::getline(cpuinfo, line)) {
    const auto value = [&] {
      const std::size_t colon = line.find(": ");
      return colon == std::string::npos ? std::string() : line.substr(colon + 2);
    };
    if (line.starts_with("model name")) return value();
    if (line.starts_with("CPU implementer")) implementer = value();
    if (line.starts_with("CPU part")) part = value();
    if (!implementer.empty() && !part.empty()) {
      return fmt::format("Arm implementer {} part {}", implementer, part);
    }
  }
  return "unknown processor";
}

}  // namespace

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::string machine_description() {
  utsname names{};
  uname(&names);
  return fmt::format("{}, {} cores, {}", processor_model(), std::thread::hardware_concurrency(),
                     names.machine);
}

}  // namespace bridgemark
