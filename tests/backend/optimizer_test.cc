#include "bridgemark/backend/backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

TEST(AdamW, MatchesTheTextbook) {
  const std::size_t count = 37;
  std::vector<float> parameters(count), gradient(count), first(count), second(count);
  std::vector<double> p(count), m(count, 0.0), v(count, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    p[i] = parameters[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  }
  AdamWSettings settings;
  settings.weight_decay = 0.1;
  for (int step = 1; step <= 5; ++step) {
    for (std::size_t i = 0; i < count; ++i) {
      gradient[i] = static_cast<float>(std::cos(static_cast<double>(i * 3 + step)));
      const auto g = static_cast<double>(gradient[i]);
      m[i] = 0.95 * m[i] + 0.05 * g;
      v[i] = 0.99 * v[i] + 0.01 * g * g;
      const double m_hat = m[i] / (1.0 - std::pow(0.95, step));
      const double v_hat = v[i] / (1.0 - std::pow(0.99, step));
      p[i] -= 1e-2 * 0.1 * p[i];
      p[i] -= 1e-2 * m_hat / (std::sqrt(v_hat) + 1e-8);
    }
    backend::of(Context{.num_threads = 2})
        .adamw_update(Context{.num_threads = 2}, settings, step, gradient, parameters, first,
                      second);
  }
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_NEAR(static_cast<double>(parameters[i]), p[i], 2e-6) << i;
  }
}

// The vectors' step and the one that devices share.
TEST(AdamW, VectorsStepAsSingleParametersDo) {
  const std::size_t count = 67;
  std::vector<float> gradient(count), parameters(count), first(count), second(count);
  for (std::size_t i = 0; i < count; ++i) {
    parameters[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  }
  std::vector<float> p = parameters, m = first, v = second;
  AdamWSettings settings;
  settings.weight_decay = 0.1;
  for (int update = 1; update <= 5; ++update) {
    const AdamWStep step = adamw_step(settings, update);
    for (std::size_t i = 0; i < count; ++i) {
      gradient[i] = static_cast<float>(std::cos(static_cast<double>(i * 3) + update));
      adamw(step, gradient[i], p[i], m[i], v[i], [](float up, float square, float epsilon) {
        return up / (std::sqrt(square) + epsilon);
      });
    }
    backend::of({}).adamw_update({}, settings, update, gradient, parameters, first, second);
  }
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_NEAR(parameters[i], p[i], 1e-6f) << i;
    EXPECT_NEAR(first[i], m[i], 1e-6f) << i;
    EXPECT_NEAR(second[i], v[i], 1e-6f) << i;
  }
}

TEST(AverageUpdate, MovesTowardsTheParameters) {
  const std::vector<float> parameters = {1.0f, -2.0f, 0.5f};
  std::vector<float> average = {0.0f, 2.0f, 0.5f};
  backend::of({}).average_update({}, 0.25, parameters, average);
  EXPECT_EQ(average, (std::vector<float>{0.25f, 1.0f, 0.5f}));
}

}  // namespace
}  // namespace bridgemark
