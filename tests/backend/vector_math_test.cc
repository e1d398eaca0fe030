#include "bridgemark/backend/cpu/simd/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/math/exact_log_dot.h"
#include "bridgemark/math/log_domain.h"
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

// count logarithms, some of them of 0 and some below what exp can give.
std::vector<double> wide_logs(std::size_t count, std::uint64_t seed) {
  DrawSequence draws({seed, DrawPurpose::kInitialise}, count);
  std::vector<double> values(count);
  for (std::size_t t = 0; t < count; ++t) {
    values[t] = t % 7 == 3 ? kLogZero : (t % 5 == 1 ? -2000.0 : -9.0) * draws.uniform();
  }
  return values;
}

TEST(LogKl, VectorsSumAsTheScalarFunctionDoes) {
  for (std::size_t count = 0; count <= 50; ++count) {
    const std::vector<double> p = wide_logs(count, 3);
    std::vector<double> q = wide_logs(count, 4);
    EXPECT_TRUE(testing::is_near(backend::cpu::fast_log_kl(p.data(), q.data(), count),
                                 log_kl(p.data(), q.data(), count), kExact))
        << count;
    // However small p is where q rules it out.
    if (count < 2) continue;
    q[1] = kLogZero;
    EXPECT_EQ(backend::cpu::fast_log_kl(p.data(), q.data(), count), -kLogZero) << count;
  }
}

TEST(SumLogRatios, VectorsSumAsSingleTermsDo) {
  for (std::size_t count = 0; count <= 50; ++count) {
    DrawSequence draws({3, DrawPurpose::kInitialise}, count);
    const auto draw = [&] { return std::exp(350.0 * (2.0 * draws.uniform() - 1.0)); };
    std::vector<double> weights(count), p(count), q(count);
    double expected = 0.0;
    for (std::size_t t = 0; t < count; ++t) {
      weights[t] = t % 7 == 3 ? 0.0 : draws.uniform();
      p[t] = draw();
      q[t] = draw();
      expected += weights[t] * std::log(p[t] / q[t]);
    }
    const double sum = backend::cpu::sum_log_ratios(weights.data(), p.data(), q.data(), count);
    EXPECT_TRUE(testing::is_near(sum, expected, {1e-13, 1e-12})) << count;
  }
}

}  // namespace
}  // namespace bridgemark
