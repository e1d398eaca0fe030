#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/error.h"

namespace bridgemark {

// In the names that test runners list.
inline void PrintTo(Device device, std::ostream* out) { *out << device_name(device); }

}  // namespace bridgemark

namespace bridgemark::testing {

// Skips aloud where this build or machine lacks the device.
inline void skip_without(Device device) {
  try {
    backend::of({.device = device}).require_device();
  } catch (const DeviceError& error) {
    GTEST_SKIP() << error.what();
  }
}

// One body for every device: TEST_P(Suite, Name) with context(), and RUN_ON_EVERY_DEVICE(Suite).
// The tests are called Suite.Name/cpu and Suite.Name/cuda.
class DeviceTest : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override { skip_without(GetParam()); }
  static Context context() { return {.device = GetParam(), .num_threads = 1}; }
};

inline std::string name_of_device(const ::testing::TestParamInfo<Device>& device) {
  return std::string(device_name(device.param));
}

#define RUN_ON_EVERY_DEVICE(Suite)                                                  \
  INSTANTIATE_TEST_SUITE_P(, Suite, ::testing::Values(Device::kCpu, Device::kCuda), \
                           ::bridgemark::testing::name_of_device)

// What compares CUDA with the CPU.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override { skip_without(Device::kCuda); }
};

}  // namespace bridgemark::testing
