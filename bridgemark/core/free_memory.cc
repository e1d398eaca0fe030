#include "bridgemark/core/free_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <string>

#include "bridgemark/core/error.h"

namespace bridgemark {

std::uint64_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  std::uint64_t kibibytes = 0;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    std::getline(file, unit);
  }
  return std::numeric_limits<std::uint64_t>::max();  // unknown: nothing is refused
}

void require_memory(double bytes, std::string_view what, std::string_view lower) {
  constexpr double kSmall = 256.0 * 1024.0 * 1024.0;  // nobody asks the kernel about these
  if (bytes < kSmall) return;
  const auto free = static_cast<double>(available_memory_bytes());
  if (bytes <= free) return;
  constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
  throw_invalid("memory", "{} needs about {:.1f} GiB, and {:.1f} GiB are free; lower {}", what,
                bytes / kGibibyte, free / kGibibyte, lower);
}

void require_states_memory(std::size_t rows, std::size_t dim, int arrays) {
  const double bytes = sizeof(std::int32_t) * static_cast<double>(rows) * static_cast<double>(dim);
  require_memory(arrays * bytes, fmt::format("drawing {} rows of {} states", rows, dim),
                 "the number of rows");
}

std::uint64_t resident_memory_bytes(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  std::uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace bridgemark
