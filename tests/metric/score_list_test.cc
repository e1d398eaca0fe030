#include "bridgemark/metric/record/score_list.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::kInfinity;

TEST(ScoreList, ShowsErrorsAndWhatIsMissing) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Score> scores = {{"shape_score", 0.5, 0.0125, {}},
                                     {"exact", 1.0, kNaN, {}},
                                     {"joint_kl", kInfinity, kNaN, {}},
                                     {"trend", kNaN, kNaN, {}, "a reason"}};
  EXPECT_EQ(score_list("mine", "a pair", 2, scores),
            "mine on a pair (2 seeds)\n"
            "  shape_score                         0.50000 ± 0.01250\n"
            "  exact                               1.00000\n"
            "  joint_kl                                inf\n"
            "  trend                                     -  a reason");
  EXPECT_EQ(score_list("mine", "a pair", 1, {}), "mine on a pair (1 seed)");
  EXPECT_EQ(score_list("\x1b]0;x\a", "b\u202e", 1, {}),
            "\\x1b]0;x\\x07 on b\\xe2\\x80\\xae (1 seed)");
}

}  // namespace
}  // namespace bridgemark
