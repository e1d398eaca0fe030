#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "bridgemark/backend/row_source.h"
#include "bridgemark/process/pinned_reference.h"
#include "tests/support/chi_square.h"

namespace bridgemark {
namespace {

std::vector<std::int32_t> drawn_steps(DrawPurpose purpose, std::uint64_t seed, int num_steps,
                                      std::size_t rows) {
  std::vector<std::int32_t> steps(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    DrawSequence draws({seed, purpose}, i);
    steps[i] = static_cast<std::int32_t>(draws.uniform() * num_steps);
  }
  return steps;
}

// The step that matching looks at has draws of its own: no split or shuffle of the same seed moves
// with it.
TEST(DrawRows, StepsHaveAPurposeOfTheirOwn) {
  constexpr std::size_t kRows = 200;
  const backend::PinnedRows points =
      pinned_rows({}, {ReferenceProcess::uniform(5, 0.1, 16), 16}, 7);
  const std::vector<std::int32_t> steps = backend::draw_steps(points, kRows, 0);
  EXPECT_EQ(steps, drawn_steps(DrawPurpose::kMatchingTime, 7, 16, kRows));
  for (std::uint32_t other = 1; other < 64; ++other) {
    if (other == static_cast<std::uint32_t>(DrawPurpose::kMatchingTime)) continue;
    EXPECT_NE(steps, drawn_steps(static_cast<DrawPurpose>(other), 7, 16, kRows)) << other;
  }
}

// Steps of the ends are drawn as often as said, and weighed back to one draw of each step.
TEST(DrawRows, EndsByTheirShare) {
  constexpr std::size_t kRows = 40000;
  constexpr int kSteps = 16;
  const StepDraws steps = steps_of_ends(kSteps);
  const backend::PinnedRows points =
      pinned_rows({}, {ReferenceProcess::uniform(5, 0.1, kSteps), kSteps}, 3, steps);
  std::vector<std::size_t> counts(kSteps);
  std::vector<double> probabilities(kSteps);
  for (const std::int32_t n : backend::draw_steps(points, kRows, 0)) ++counts[n];
  double before = 0.0;
  for (int n = 0; n < kSteps; ++n) {
    const double share = (steps.cumulative[n] - before) / steps.cumulative.back();
    before = steps.cumulative[n];
    EXPECT_NEAR(share * steps.weights[n] * kSteps, 1.0, 1e-12) << n;
    probabilities[n] = share;
  }
  EXPECT_TRUE(testing::fits(counts, probabilities));
}

}  // namespace
}  // namespace bridgemark
