#include "bridgemark/backend/cpu/simd/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/math/exact_log_dot.h"
#include "bridgemark/math/philox.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

constexpr testing::Tolerance kExact{1e-14, 1e-14};

TEST(LogDot, VectorsSumAsSingleTermsDo) {
  for (std::size_t count = 0; count <= 17; ++count) {
    DrawSequence draws({3, DrawPurpose::kInitialise}, count);
    std::vector<double> a(count), b(count);
    for (std::size_t t = 0; t < count; ++t) {
      a[t] = t % 5 == 4 ? kLogZero : 1000.0 * draws.uniform();
      b[t] = -1000.0 * draws.uniform();
    }
    EXPECT_TRUE(testing::is_near(backend::cpu::log_dot(a.data(), b.data(), count),
                                 exact_log_dot(a.data(), b.data(), 1, count), kExact))
        << count;
  }
}

}  // namespace
}  // namespace bridgemark
