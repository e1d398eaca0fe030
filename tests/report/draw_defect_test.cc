#include "bridgemark/report/draw_defect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/experiment/results_testing.h"

namespace bridgemark {
namespace {

using ::testing::HasSubstr;
using testing::normal;

// Rounded normal draws around one of two middles, the second with probability `second`.
States draws(std::uint64_t seed, double second, double width, int shift = 0) {
  States rows(300, 3);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const bool other = static_cast<double>(i) < second * static_cast<double>(rows.rows());
    for (std::size_t d = 0; d < 3; ++d) {
      rows(i, d) = static_cast<std::int32_t>(
          std::lround((other ? 30.0 : 12.0) + shift + width * normal(seed, 3 * i + d)));
    }
  }
  return rows;
}

TEST(DrawDefect, NamesWhatWasPlanted) {
  const States x0(1, 3, 20), truth = draws(1, 0.4, 2.0);
  States anywhere(300, 3);
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t d = 0; d < 3; ++d)
      anywhere(i, d) = static_cast<std::int32_t>((7 * i + 13 * d) % 50);
  }
  const auto found = [&](const States& solver) { return draw_defect(x0, solver, truth, anywhere); };
  EXPECT_THAT(found(draws(2, 0.4, 2.0)), HasSubstr("look like the truth's"));
  EXPECT_THAT(found(draws(2, 0.0, 2.0)), HasSubstr("it misses 4"));
  EXPECT_THAT(found(anywhere), HasSubstr("x1 of p1 whatever x0 is"));
  EXPECT_THAT(found(draws(2, 0.4, 0.2)), HasSubstr("misses"));
  EXPECT_THAT(draw_defect(x0, draws(2, 0.0, 1.5), draws(3, 0.0, 2.2), anywhere),
              HasSubstr("too narrow"));
  EXPECT_THAT(found(draws(2, 0.4, 2.0, 9)), HasSubstr("misses"));
  States frozen = draws(2, 0.4, 2.0);
  for (std::size_t i = 0; i < 300; ++i) frozen(i, 1) = 20;
  EXPECT_THAT(found(frozen), HasSubstr("coordinate 2 stays at x0 in 100 %"));
  States also_far = draws(2, 0.4, 2.0);
  for (std::size_t i = 0; i < 120; ++i) also_far(299 - i, 0) = 49;
  EXPECT_THAT(found(also_far), HasSubstr("% of its draws are where the truth has none"));
}

}  // namespace
}  // namespace bridgemark
