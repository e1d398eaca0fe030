#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>

namespace bridgemark::testing {

// Calls check() once for each set of vector instructions among `sets` that this machine has, down
// to the one that needs none, where the build chooses among them at run time; else once.
template <class Check>
void with_each_instruction_set(Check&& check, [[maybe_unused]] std::int64_t sets = HWY_TARGETS) {
#ifdef HWY_COMPILE_ONLY_STATIC
  check();
#else
  for (std::int64_t rest = hwy::SupportedTargets() & sets; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    check();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
#endif
}

}  // namespace bridgemark::testing
