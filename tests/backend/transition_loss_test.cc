#include "bridgemark/backend/cpu/cp/transition_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/matching_terms.h"
#include "bridgemark/math/philox.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using backend::cpu::kLogNothing;

constexpr testing::Tolerance kFloat{2e-5, 2e-6};  // of exponents up to 10 by the fast exponential
constexpr testing::Tolerance kDouble{1e-12, 1e-13};

// Logarithms of `count` probabilities, some of them 0, with `spread` between the others.
std::vector<double> draw_log_row(std::size_t count, double spread, std::uint64_t seed) {
  DrawSequence draws({seed, DrawPurpose::kInitialise}, count);
  std::vector<double> row(count);
  for (double& value : row) value = spread * draws.uniform();
  for (std::size_t s = 3; s < count; s += 5) row[s] = -1e30;
  log_normalize(row.data(), count);
  return row;
}

// The vectors' loss and the terms that devices share, summed in float64.
template <typename T>
void check_row(MatchingLoss kind, std::size_t count, const testing::Tolerance& tolerance) {
  const std::vector<double> log_t = draw_log_row(count, 4.0, 1),
                            log_m = draw_log_row(count, 6.0, 2);
  const std::size_t padded = (count + 15) / 16 * 16;
  const T shift = T(2.5), scale = T(0.25);  // the model's logarithms are not normalised
  std::vector<T> log_target(padded, kLogNothing<T>), log_weights = log_target;
  std::vector<T> target(padded), flow(padded);
  double expected = 0.0, slopes = 0.0;
  for (std::size_t s = 0; s < count; ++s) {
    log_target[s] = static_cast<T>(log_t[s]);
    log_weights[s] = static_cast<T>(log_m[s]) + shift;
    const double t = std::exp(log_t[s]), m = std::exp(log_m[s]);
    expected += matching_term(kind, t, m, log_t[s] - log_m[s]);
    slopes += matching_slope(kind, t, m);
  }
  const double loss = backend::cpu::transition_loss(kind, scale, log_target.data(), padded,
                                                    log_weights.data(), target.data(), flow.data());
  EXPECT_TRUE(testing::is_near(loss, expected, tolerance));
  for (std::size_t s = 0; s < count; ++s) {
    const double t = std::exp(log_t[s]), m = std::exp(log_m[s]);
    const double slope = matching_slope(kind, t, m) - m * slopes;
    EXPECT_TRUE(testing::is_near(target[s], t, tolerance)) << s;
    EXPECT_TRUE(testing::is_near(flow[s], static_cast<double>(scale) * slope, tolerance)) << s;
  }
}

TEST(TransitionLoss, VectorsHaveTheTermsOfSingleCategories) {
  for (const MatchingLoss kind : {MatchingLoss::kKl, MatchingLoss::kMse}) {
    for (std::size_t count = 1; count <= 33; ++count) {
      SCOPED_TRACE(count);
      check_row<float>(kind, count, kFloat);
      check_row<double>(kind, count, kDouble);
    }
  }
}

}  // namespace
}  // namespace bridgemark
