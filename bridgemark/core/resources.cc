#include "bridgemark/core/resources.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace bridgemark {

namespace {

// The names of Arm's numbers, for the cores that servers and boards have.
std::string arm_core(const std::string& implementer, const std::string& part) {
  struct Core {
    const char* part;
    const char* name;
  };
  constexpr Core kCores[] = {{"0xd03", "Cortex-A53"},  {"0xd07", "Cortex-A57"},
                             {"0xd08", "Cortex-A72"},  {"0xd0b", "Cortex-A76"},
                             {"0xd0c", "Neoverse-N1"}, {"0xd40", "Neoverse-V1"},
                             {"0xd49", "Neoverse-N2"}, {"0xd4f", "Neoverse-V2"},
                             {"0xd83", "Neoverse-V3"}, {"0xd8e", "Neoverse-N3"}};
  if (implementer == "0x41") {
    for (const Core& core : kCores) {
      if (part == core.part) return fmt::format("Arm {}", core.name);
    }
  }
  return fmt::format("Arm implementer {} part {}", implementer, part);
}

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
      return arm_core(implementer, part);
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

std::uint64_t total_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || bytes <= 0) return 0;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes);
}

std::string machine_description() {
  utsname names{};
  uname(&names);
  return fmt::format("{}, {} cores, {}", processor_model(), std::thread::hardware_concurrency(),
                     names.machine);
}

}  // namespace bridgemark
