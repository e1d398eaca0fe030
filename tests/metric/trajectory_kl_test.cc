#include "bridgemark/metric/trajectory_kl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "bridgemark/math/log_domain.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/small_pair.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_states;
using testing::DenseOracle;
using testing::is_near;
using testing::Tolerance;
using testing::Wide;
using testing::with_threads;

// The seeds are fixed; a bound of 4.5 standard errors fails one right estimate in 150,000.
constexpr double kTrajectoryErrors = 4.5;

// sum over n of E over p's x_n of sum_d KL(p(x_{n+1}^d | x_n) || q(x_{n+1}^d | x_n)) by summing
// over all states, for each start.
std::vector<double> enumerate_kl(const DenseOracle& p, const DenseOracle& q, int num_steps) {
  const std::size_t M = p.num_states();
  std::vector<double> result(M, 0.0);
  Wide reached(M, M, 0.0L);  // [x_0, x_n]
  for (std::size_t i = 0; i < M; ++i) reached(i, i) = 1.0L;
  for (int n = 0; n < num_steps; ++n) {
    const Wide law = p.transition(num_steps, n);
    const Array3<long double> mine = p.marginals(law);
    const Array3<long double> other = q.marginals(q.transition(num_steps, n));
    for (std::size_t x = 0; x < M; ++x) {
      long double kl = 0.0L;
      for (std::size_t i = 0; i < mine.extent(1) * mine.extent(2); ++i) {
        const long double a = mine.row(x, 0)[i], b = other.row(x, 0)[i];
        if (a > 0.0L) kl += a * std::log(a / b);
      }
      for (std::size_t start = 0; start < M; ++start) {
        if (reached(start, x) > 0.0L) result[start] += static_cast<double>(reached(start, x) * kl);
      }
    }
    reached = testing::multiply(reached, law);
  }
  return result;
}

CpBridge reference_of(const CpBridge& bridge) {
  const auto S = static_cast<std::size_t>(bridge.num_categories());
  return {bridge.process(), CpPotential({0.0}, Array3<double>(bridge.dim(), S, 1, 0.0))};
}

// Each state `repeats` times.
States repeated_states(const States& states, std::size_t repeats) {
  States rows(states.rows() * repeats, states.cols());
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    std::copy_n(states.row(i % states.rows()), states.cols(), rows.row(i));
  }
  return rows;
}

double mean(const std::vector<double>& values) { return estimate_mean(values).mean; }

TEST(TrajectoryKl, OfTheReferenceMatchesEnumerationInBothDirections) {
  const Context context = with_threads(2);
  for (const testing::BridgeCase& small : testing::small_bridges()) {
    const CpBridge reference = reference_of(small.bridge);
    const DenseOracle dense_reference = testing::dense_oracle(reference);
    const States x0 = repeated_states(small.oracle.states(), 20000 / small.oracle.num_states());
    for (const int num_steps : {1, 4}) {
      SCOPED_TRACE(small.name + ", steps " + std::to_string(num_steps));
      const double forward = mean(enumerate_kl(small.oracle, dense_reference, num_steps));
      const double reverse = mean(enumerate_kl(dense_reference, small.oracle, num_steps));
      const MeanEstimate from_truth =
          trajectory_kl(context, small.bridge, reference, num_steps, x0, 5);
      const MeanEstimate from_reference =
          trajectory_kl(context, reference, small.bridge, num_steps, x0, 6);
      if (num_steps == 1) {
        // Nothing is drawn: one exact KL for each start.
        EXPECT_TRUE(is_near(from_truth.mean, forward, Tolerance{1e-10, 1e-13}));
        EXPECT_TRUE(is_near(from_reference.mean, reverse, Tolerance{1e-10, 1e-13}));
        continue;
      }
      EXPECT_TRUE(is_near(from_truth.mean, forward,
                          Tolerance{0.0, kTrajectoryErrors * from_truth.standard_error + 1e-12}));
      EXPECT_LT(from_truth.standard_error, 0.01 * forward + 1e-12);
      if (std::isinf(reverse)) {
        EXPECT_EQ(from_reference.mean, reverse);
        continue;
      }
      EXPECT_TRUE(
          is_near(from_reference.mean, reverse,
                  Tolerance{0.0, kTrajectoryErrors * from_reference.standard_error + 1e-12}));
      EXPECT_LT(from_reference.standard_error, 0.01 * reverse + 1e-12);
    }
  }
}

// More steps tell more: the sum over a finer grid is the KL of a richer pair of processes. Checked
// where there is one coordinate, so that marginal transitions are whole transitions.
TEST(TrajectoryKl, GrowsWithTheGridAndIsTheJointKlForOneCoordinate) {
  const std::vector<testing::BridgeCase> cases = testing::small_bridges();
  const auto is_line = [](const testing::BridgeCase& small) { return small.bridge.dim() == 1; };
  const testing::BridgeCase& line = *std::ranges::find_if(cases, is_line);
  const CpBridge reference = reference_of(line.bridge);
  const DenseOracle dense = testing::dense_oracle(reference);
  const double one = mean(enumerate_kl(line.oracle, dense, 1));
  const MeanEstimate fine =
      trajectory_kl({}, line.bridge, reference, 16, repeated_states(line.oracle.states(), 3000), 1);
  // Both processes are reference times potential, so the inside given both ends is the same: the
  // KL between paths is that between the ends.
  EXPECT_TRUE(is_near(fine.mean, one, Tolerance{0.0, kTrajectoryErrors * fine.standard_error}));
  EXPECT_LT(fine.standard_error, 0.02 * one);
}

TEST(TrajectoryKl, OfTheTruthIsZero) {
  for (const testing::BridgeCase& small : testing::small_bridges()) {
    const MeanEstimate same =
        trajectory_kl({}, small.bridge, small.bridge, 4, small.oracle.states(), 0);
    EXPECT_EQ(same.mean, 0.0) << small.name;
    EXPECT_EQ(same.standard_error, 0.0) << small.name;
  }
}

TEST(TrajectoryKl, IsInfiniteWhereTheModelRulesSomethingOut) {
  const auto process = ReferenceProcess::uniform(3, 0.1, 4);
  Array3<double> cores(2, 3, 1, 0.0);
  const CpBridge full(process, CpPotential({0.0}, cores));
  cores(1, 2, 0) = kLogZero;
  const CpBridge narrow(process, CpPotential({0.0}, cores));
  const States x0 = all_states(2, 3);
  EXPECT_EQ(trajectory_kl({}, full, narrow, 4, x0, 0).mean,
            std::numeric_limits<double>::infinity());
  const double reverse = trajectory_kl({}, narrow, full, 4, x0, 0).mean;
  EXPECT_TRUE(std::isfinite(reverse));
  EXPECT_GT(reverse, 0.0);
}

// Answers the same marginals for every state.
class FixedTransitions : public Coupling {
 public:
  explicit FixedTransitions(std::vector<double> log_marginals)
      : log_marginals_(std::move(log_marginals)) {}

  std::size_t dim() const override { return 1; }
  int num_categories() const override { return static_cast<int>(log_marginals_.size()); }
  void sample(const Context&, StatesView x0, const DrawKey&, std::uint64_t,
              MutableStatesView x1) const override {
    std::copy_n(x0.data, x0.size(), x1.data);
  }
  bool has_transitions(int) const override { return true; }
  void write_log_transition_marginals(const Context&, int, int, StatesView,
                                      MatrixView<double> out) const override {
    for (std::size_t i = 0; i < out.rows; ++i) {
      std::copy(log_marginals_.begin(), log_marginals_.end(), out.row(i));
    }
  }
  void sample_transition(const Context& context, int, int, StatesView x, const DrawKey& key,
                         std::uint64_t first_index, MutableStatesView out) const override {
    sample(context, x, key, first_index, out);
  }

 private:
  std::vector<double> log_marginals_;
};

TEST(TrajectoryKl, EdgesOfOneKl) {
  const States x0(3, 1, 0);
  const double half = std::log(0.5), infinity = std::numeric_limits<double>::infinity();
  const FixedTransitions even({half, half}), sure({0.0, kLogZero});
  EXPECT_DOUBLE_EQ(trajectory_kl({}, sure, even, 3, x0, 0).mean, 3.0 * std::log(2.0));
  EXPECT_EQ(trajectory_kl({}, even, sure, 3, x0, 0).mean, infinity);
  EXPECT_EQ(trajectory_kl({}, sure, sure, 3, x0, 0).mean, 0.0);
  // exp(-800) is 0 in double, but q still rules out what p allows.
  const FixedTransitions nearly_sure({0.0, -800.0});
  EXPECT_EQ(trajectory_kl({}, nearly_sure, sure, 1, x0, 0).mean, infinity);
  EXPECT_EQ(trajectory_kl({}, sure, nearly_sure, 1, x0, 0).mean, 0.0);
}

// D * S = 2^16 makes chunks of 128 rows; the same sum over all rows at once.
TEST(TrajectoryKl, DoesNotDependOnChunksOrThreads) {
  const std::size_t D = 1024, rows = 200;
  const int S = 64, steps = 2;
  const auto process = ReferenceProcess::uniform(S, 0.1, 4);
  Array3<double> cores(D, static_cast<std::size_t>(S), 1);
  States x0(rows, D);
  for (std::size_t i = 0; i < cores.size(); ++i) {
    cores.data()[i] = std::sin(static_cast<double>(i));
  }
  for (std::size_t i = 0; i < x0.size(); ++i) x0.data()[i] = static_cast<std::int32_t>(i * 7 % 64);
  const CpBridge p(process, CpPotential({0.0}, cores));
  const CpBridge q = reference_of(p);

  std::vector<double> expected(rows, 0.0);
  States current = x0, next(rows, D);
  for (int n = 0; n < steps; ++n) {
    Array3<double> log_p, log_q;
    p.log_transition_marginals({}, steps, n, current, log_p);
    q.log_transition_marginals({}, steps, n, current, log_q);
    const std::size_t width = log_p.size() / rows;
    for (std::size_t i = 0; i < log_p.size(); ++i) {
      expected[i / width] += std::exp(log_p.data()[i]) * (log_p.data()[i] - log_q.data()[i]);
    }
    p.sample_transition({}, steps, n, current,
                        {9, DrawPurpose::kTransition, static_cast<std::uint32_t>(n)}, 0, next);
    std::swap(current, next);
  }
  const MeanEstimate one = trajectory_kl(with_threads(1), p, q, steps, x0, 9);
  EXPECT_TRUE(is_near(one.mean, mean(expected), Tolerance{1e-11, 0.0}));
  EXPECT_TRUE(
      is_near(one.standard_error, estimate_mean(expected).standard_error, Tolerance{1e-8, 0.0}));
  for (const int threads : {2, 5}) {
    const MeanEstimate other = trajectory_kl(with_threads(threads), p, q, steps, x0, 9);
    EXPECT_EQ(one.mean, other.mean);
    EXPECT_EQ(one.standard_error, other.standard_error);
  }
}

TEST(TrajectoryKl, NeedsTransitions) {
  const CpBridge bridge(ReferenceProcess::uniform(3, 0.1, 4),
                        CpPotential({0.0}, Array3<double>(1, 3, 1, 0.0)));
  EXPECT_ANY_THROW(trajectory_kl({}, bridge, bridge, 3, States(1, 1, 0), 0));
}

}  // namespace
}  // namespace bridgemark
