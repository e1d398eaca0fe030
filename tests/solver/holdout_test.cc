#include "bridgemark/solver/core/holdout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/support/small_pair.h"

namespace bridgemark {
namespace {

// Row i of either end is (i / 200, i % 200), so that a row tells its place.
States numbered(std::size_t n) {
  States states(n, 2);
  for (std::size_t i = 0; i < n; ++i) {
    states(i, 0) = static_cast<std::int32_t>(i / 200);
    states(i, 1) = static_cast<std::int32_t>(i % 200);
  }
  return states;
}

FitProblem numbered_problem(std::size_t n0, std::size_t n1) {
  return FitProblem(numbered(n0), numbered(n1), ReferenceProcess::uniform(200, 0.1, 4));
}

std::vector<int> places(const States& states) {
  std::vector<int> found(states.rows());
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = states(i, 0) * 200 + states(i, 1);
  return found;
}

// In the order of the data, disjoint, and together all n rows.
void expect_parts(const States& training, const States& apart, std::size_t n) {
  const std::vector<int> a = places(training), b = places(apart);
  EXPECT_TRUE(std::ranges::is_sorted(a));
  EXPECT_TRUE(std::ranges::is_sorted(b));
  std::vector<int> all;
  std::ranges::merge(a, b, std::back_inserter(all));
  EXPECT_EQ(all, places(numbered(n)));
}

TEST(SplitHoldout, PartsAreDisjointAndHoldEveryRow) {
  const Holdout split = split_holdout(numbered_problem(1000, 700), 0.2);
  EXPECT_EQ(split.x0.rows(), 200u);
  EXPECT_EQ(split.x1.rows(), 140u);
  expect_parts(split.training.data()->x0.states(), split.x0, 1000);
  expect_parts(split.training.data()->x1.states(), split.x1, 700);
}

TEST(SplitHoldout, SizesFollowTheShareWithinTheirBounds) {
  const auto kept = [](std::size_t n, double share) {
    return split_holdout(numbered_problem(n, n), share).x1.rows();
  };
  EXPECT_EQ(kept(1001, 0.2), 201u);  // rounded up
  EXPECT_EQ(kept(600, 0.1), 60u);    // 0.1 is not a binary number
  EXPECT_EQ(kept(200, 0.1), 50u);    // at least 50
  EXPECT_EQ(kept(60, 0.1), 30u);     // but at most half
  EXPECT_EQ(kept(200, 0.9), 100u);
  EXPECT_EQ(kept(3, 0.2), 1u);
  EXPECT_EQ(kept(2, 0.2), 1u);
  EXPECT_EQ(kept(1, 0.2), 0u);
  EXPECT_EQ(kept(200, 0.0), 0u);
}

// Where one end cannot be split, neither is: an objective needs rows of both.
TEST(SplitHoldout, KeepsNoneWhereAnEndHasOneRow) {
  const Holdout split = split_holdout(numbered_problem(1, 200), 0.2);
  EXPECT_TRUE(split.empty());
  EXPECT_EQ(split.x1.rows(), 0u);
  EXPECT_EQ(split.training.data()->x1.states(), numbered(200));
}

// The chosen places do not depend on what the rows hold; the two ends have places of their own.
TEST(SplitHoldout, ChoosesByTheNumberOfRowsAndTheEndAlone) {
  const Holdout split = split_holdout(numbered_problem(400, 400), 0.25);
  EXPECT_NE(split.x0, split.x1);
  States turned = numbered(400);
  for (std::size_t i = 0; i < turned.size(); ++i) turned.data()[i] = 199 - turned.data()[i];
  const Holdout other =
      split_holdout(FitProblem(turned, turned, ReferenceProcess::gaussian(200, 0.3, 8)), 0.25);
  for (std::size_t i = 0; i < other.x0.size(); ++i) {
    EXPECT_EQ(199 - other.x0.data()[i], split.x0.data()[i]);
  }
  // Places are spread over the data: their mean is near the middle (standard error 5).
  double sum = 0.0;
  for (const int place : places(split.x0)) sum += place;
  EXPECT_NEAR(sum / 100.0, 199.5, 50.0);
}

TEST(SplitHoldout, APairKeepsNone) {
  const FitProblem pair = build_pair(testing::small_spec());
  const Holdout split = split_holdout(pair, 0.2);
  EXPECT_TRUE(split.empty());
  EXPECT_TRUE(split.training.pair());
}

TEST(SplitHoldout, RefusesOtherShares) {
  for (const double share : {-0.1, 0.91, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(split_holdout(numbered_problem(10, 10), share), InvalidArgument);
  }
}

}  // namespace
}  // namespace bridgemark
