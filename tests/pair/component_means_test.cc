#include "bridgemark/pair/component_means.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/support/chi_square.h"

namespace bridgemark {
namespace {

PairSpec spread_spec() {
  PairSpec spec;
  spec.family = PairFamily::kSpread;
  spec.seed = 7;
  spec.dim = 3;
  return spec;
}

// A spread mean is drawn by exact operations alone, so these hold on every machine.
TEST(ComponentMeans, OfASpreadPairAreTheSameEverywhere) {
  EXPECT_EQ(draw_component_means(spread_spec()),
            Matrix<int>(4, 3, {26, 23, 5, 24, 26, 28, 38, 42, 19, 19, 24, 42}));
}

// Each coordinate uniform on 5..S-6.
TEST(ComponentMeans, OfASpreadPairAreUniform) {
  PairSpec spec = spread_spec();
  spec.dim = 5000;
  spec.num_categories = 45;
  spec.min_distance = 0.0;
  const Matrix<int> means = draw_component_means(spec);
  std::vector<std::size_t> observed(35, 0);
  for (std::size_t i = 0; i < means.size(); ++i) {
    ASSERT_GE(means.data()[i], 5);
    ASSERT_LE(means.data()[i], 39);
    ++observed[static_cast<std::size_t>(means.data()[i] - 5)];
  }
  EXPECT_TRUE(testing::fits(observed, std::vector<double>(35, 1.0 / 35.0)));
}

int squared_distance(const Matrix<int>& means, std::size_t a, std::size_t b) {
  int sum = 0;
  for (std::size_t d = 0; d < means.cols(); ++d) {
    sum += (means(a, d) - means(b, d)) * (means(a, d) - means(b, d));
  }
  return sum;
}

// In one dimension of 40 choices two of four means are often closer than 5: redrawing must help.
TEST(ComponentMeans, OfASpreadPairKeepTheirDistance) {
  PairSpec spec = spread_spec();
  spec.dim = 1;
  int closer_when_allowed = 0;
  for (spec.seed = 0; spec.seed < 50; ++spec.seed) {
    spec.min_distance = 5.0;
    const Matrix<int> apart = draw_component_means(spec);
    spec.min_distance = 0.0;
    const Matrix<int> free = draw_component_means(spec);
    for (std::size_t a = 0; a < 4; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        EXPECT_GE(squared_distance(apart, a, b), 25) << "seed " << spec.seed;
        closer_when_allowed += squared_distance(free, a, b) < 25 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(closer_when_allowed, 10);
}

TEST(ComponentMeans, StayAfterTheLastTry) {
  PairSpec spec = spread_spec();
  spec.num_categories = 11;  // 5..5: there is one mean
  EXPECT_EQ(draw_component_means(spec), Matrix<int>(4, 3, std::vector<int>(12, 5)));
}

// A distance that somebody asked for is kept or refused.
TEST(ComponentMeans, ADistanceThatCannotBeMetIsRefused) {
  PairSpec spec = spread_spec();
  EXPECT_NO_THROW(require_min_distance(spec));
  spec.min_distance = 60.0;
  try {
    require_min_distance(spec);
    FAIL() << "was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("4 means in 50 categories and 3 dimensions"),
              std::string::npos)
        << error.what();
  }
}

TEST(ComponentMeans, TheirDrawIsInterrupted) {
  PairSpec spec = spread_spec();
  spec.num_components = 20000;
  int asked = 0;
  const Context context{.interrupt = [&] { return ++asked > 100; }};
  EXPECT_THROW(draw_component_means(spec, context), Interrupted);
  EXPECT_THROW(build_pair(spec, {.interrupt = [] { return true; }}), Interrupted);
}

}  // namespace
}  // namespace bridgemark
