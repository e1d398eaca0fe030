#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"

// Draws of a bridge against the laws of the oracle; the false-alarm rate of each comparison is
// that of chi_square.h.
namespace bridgemark {
namespace {

using testing::BridgeCase;
using testing::fits;
using testing::kContext;
using testing::Wide;

constexpr std::size_t kDrawnRows = 40000;
constexpr int kPathSteps = 4;

std::vector<double> row_of(const Wide& law, std::size_t row) {
  std::vector<double> out;
  for (std::size_t j = 0; j < law.cols(); ++j) out.push_back(static_cast<double>(law(row, j)));
  return out;
}

// Three starts of a case: first, last and one between.
std::vector<std::size_t> some_starts(const BridgeCase& item) {
  const std::size_t M = item.oracle.num_states();
  return {0, M / 3, M - 1};
}

TEST(BridgeSampling, ConditionalFollowsTheOracle) {
  for (const BridgeCase& item : testing::small_bridges()) {
    const Wide law = item.oracle.conditional();
    const std::size_t M = item.oracle.num_states(), D = item.bridge.dim();
    for (const std::size_t start : some_starts(item)) {
      const States x0 = testing::repeat_row(item.oracle.states(), start, kDrawnRows);
      States x1(kDrawnRows, D);
      item.bridge.sample(kContext, x0, {start, DrawPurpose::kConditional}, 0, x1);
      std::vector<std::size_t> counts(M, 0);
      for (std::size_t i = 0; i < kDrawnRows; ++i) {
        ++counts[testing::state_index(x1.row(i), D, item.bridge.num_categories())];
      }
      EXPECT_TRUE(fits(counts, row_of(law, start))) << item.name << ", x0 " << start;
    }
  }
}

TEST(BridgeSampling, EachTransitionFollowsTheOracle) {
  for (const BridgeCase& item : testing::small_bridges()) {
    const std::size_t M = item.oracle.num_states(), D = item.bridge.dim();
    const std::size_t start = M / 2;
    const States x = testing::repeat_row(item.oracle.states(), start, kDrawnRows);
    for (int n = 0; n < kPathSteps; ++n) {
      States next(kDrawnRows, D);
      item.bridge.sample_transition(kContext, kPathSteps, n, x, {3, DrawPurpose::kTransition}, 0,
                                    next);
      std::vector<std::size_t> counts(M, 0);
      for (std::size_t i = 0; i < kDrawnRows; ++i) {
        ++counts[testing::state_index(next.row(i), D, item.bridge.num_categories())];
      }
      EXPECT_TRUE(fits(counts, row_of(item.oracle.transition(kPathSteps, n), start)))
          << item.name << ", n " << n;
    }
  }
}

// Counts of the state at time n, and of the pair of states at times n and m.
std::vector<std::size_t> count_pairs(const Array3<std::int32_t>& trajectory, std::size_t n,
                                     std::size_t m, int num_categories, std::size_t num_states) {
  const std::size_t D = trajectory.extent(2);
  std::vector<std::size_t> counts(num_states * num_states, 0);
  for (std::size_t i = 0; i < trajectory.extent(0); ++i) {
    const std::size_t a = testing::state_index(trajectory.row(i, n), D, num_categories);
    const std::size_t b = testing::state_index(trajectory.row(i, m), D, num_categories);
    ++counts[a * num_states + b];
  }
  return counts;
}

// The joint law of (x_n, x_1) given the start: with it the law of each of the two is checked too.
std::vector<double> pair_law(const BridgeCase& item, std::size_t start, int n) {
  const std::size_t M = item.oracle.num_states();
  Wide before = testing::power(item.oracle.conditional(), 0), after = before;
  for (int step = 0; step < kPathSteps; ++step) {
    const Wide transition = item.oracle.transition(kPathSteps, step);
    (step < n ? before : after) = testing::multiply(step < n ? before : after, transition);
  }
  std::vector<double> law(M * M);
  for (std::size_t a = 0; a < M; ++a) {
    for (std::size_t b = 0; b < M; ++b) {
      law[a * M + b] = static_cast<double>(before(start, a) * after(a, b));
    }
  }
  return law;
}

void check_trajectories(bool pinned) {
  for (const BridgeCase& item : testing::small_bridges()) {
    const std::size_t M = item.oracle.num_states();
    if (M > 64) continue;  // too many cells for the draws
    const std::size_t start = M / 3;
    const States x0 = testing::repeat_row(item.oracle.states(), start, kDrawnRows);
    const auto trajectory =
        pinned ? sample_pinned_trajectory(kContext, item.bridge, item.bridge.process(), kPathSteps,
                                          x0, 17, 0)
               : sample_markov_trajectory(kContext, item.bridge, kPathSteps, x0, 17, 0);
    ASSERT_EQ(trajectory.extent(0), kDrawnRows);
    ASSERT_EQ(trajectory.extent(1), kPathSteps + 1u);
    ASSERT_EQ(trajectory.extent(2), item.bridge.dim());
    for (std::size_t i = 0; i < kDrawnRows; ++i) {
      for (std::size_t d = 0; d < x0.cols(); ++d) ASSERT_EQ(trajectory(i, 0, d), x0(i, d));
    }
    for (const int n : {1, 2, 3}) {
      const auto counts = count_pairs(trajectory, static_cast<std::size_t>(n), kPathSteps,
                                      item.bridge.num_categories(), M);
      EXPECT_TRUE(fits(counts, pair_law(item, start, n))) << item.name << ", n " << n;
    }
  }
}

TEST(BridgeSampling, MarkovTrajectoryFollowsTheOracle) { check_trajectories(false); }

TEST(BridgeSampling, PinnedTrajectoryFollowsTheOracle) { check_trajectories(true); }

// A trajectory of one step is a draw of the conditional and nothing else.
TEST(BridgeSampling, OneStepTrajectoryIsTheConditional) {
  const std::vector<BridgeCase> cases = testing::small_bridges();
  const BridgeCase& item = cases[0];
  const States x0 = testing::repeat_row(item.oracle.states(), 4, 100);
  States x1(100, item.bridge.dim());
  item.bridge.sample(kContext, x0, {5, DrawPurpose::kConditional}, 0, x1);
  const auto pinned =
      sample_pinned_trajectory(kContext, item.bridge, item.bridge.process(), 1, x0, 5, 0);
  States markov_x1(100, item.bridge.dim());
  item.bridge.sample(kContext, x0, {5, DrawPurpose::kTransition, 0}, 0, markov_x1);
  const auto markov = sample_markov_trajectory(kContext, item.bridge, 1, x0, 5, 0);
  for (std::size_t i = 0; i < 100; ++i) {
    for (std::size_t d = 0; d < item.bridge.dim(); ++d) {
      EXPECT_EQ(pinned(i, 1, d), x1(i, d));
      EXPECT_EQ(markov(i, 1, d), markov_x1(i, d));
    }
  }
}

}  // namespace
}  // namespace bridgemark
