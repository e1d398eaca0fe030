#pragma once

#include <gtest/gtest.h>

#include "bridgemark/backend/cuda_ops.h"
#include "bridgemark/core/error.h"

namespace bridgemark::testing {

// Skipped aloud where there is no CUDA device.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      backend::cuda::require_device();
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

}  // namespace bridgemark::testing
