#include "bridgemark/backend/cpu/simd/instruction_sets.h"

#include <fmt/ranges.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace bridgemark::backend::cpu {

std::string instruction_sets() {
  // A bit for each set, the better one the lower.
  std::vector<std::string> names;
  for (std::uint64_t left = static_cast<std::uint64_t>(hwy::SupportedTargets()) & HWY_TARGETS;
       left != 0; left &= left - 1) {
    names.emplace_back(hwy::TargetName(static_cast<std::int64_t>(left & (~left + 1))));
  }
  return fmt::format("{} (Highway {}.{}.{})", fmt::join(names, ", "), HWY_MAJOR, HWY_MINOR,
                     HWY_PATCH);
}

}  // namespace bridgemark::backend::cpu
