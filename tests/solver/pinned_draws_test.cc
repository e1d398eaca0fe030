#include "bridgemark/solver/core/pinned_draws.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

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
TEST(PinnedDraws, StepsHaveAPurposeOfTheirOwn) {
  constexpr std::size_t kRows = 200;
  const PinnedDraws points({}, {ReferenceProcess::uniform(5, 0.1, 16), 16}, 7);
  const std::vector<std::int32_t> steps = points.steps_done(kRows, 0);
  EXPECT_EQ(steps, drawn_steps(DrawPurpose::kMatchingTime, 7, 16, kRows));
  for (std::uint32_t other = 1; other < 64; ++other) {
    if (other == static_cast<std::uint32_t>(DrawPurpose::kMatchingTime)) continue;
    EXPECT_NE(steps, drawn_steps(static_cast<DrawPurpose>(other), 7, 16, kRows)) << other;
  }
}

}  // namespace
}  // namespace bridgemark
