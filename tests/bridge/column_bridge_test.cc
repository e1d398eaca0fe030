#include "bridgemark/bridge/column_bridge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "tests/io/io_testing.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/random_low_rank.h"
#include "tests/support/tolerance.h"

// Bridges over columns of different categories and references, against sums over every state.
// A name of their own: files of tests are compiled together.
namespace bridgemark::column_bridge_testing {

using testing::all_near;
using testing::contains;
using testing::error_of;
using testing::kContext;
using testing::Tolerance;
using testing::Wide;

constexpr Tolerance kLog{1e-12, 1e-12};
constexpr int kSteps = 16;

struct Column {
  ReferenceProcess process;
  Wide step;
};

// All states of columns with these sizes, the last column fastest.
States states_of(const ColumnReference& reference) {
  std::size_t count = 1;
  for (std::size_t d = 0; d < reference.dim(); ++d) count *= reference.num_categories(d);
  States states(count, reference.dim());
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    for (std::size_t d = reference.dim(); d-- > 0;) {
      states(i, d) = static_cast<std::int32_t>(rest % reference.num_categories(d));
      rest /= reference.num_categories(d);
    }
  }
  return states;
}

struct Case {
  std::string name;
  std::vector<Column> columns;
  ColumnBridge bridge;
  States states;

  // prod_d Q_d^n[x^d, y^d] over all states.
  Wide reference(int n) const {
    std::vector<Wide> powers;
    for (const Column& column : columns) powers.push_back(testing::power(column.step, n));
    Wide whole(states.rows(), states.rows());
    for (std::size_t i = 0; i < states.rows(); ++i) {
      for (std::size_t j = 0; j < states.rows(); ++j) {
        long double product = 1.0L;
        for (std::size_t d = 0; d < columns.size(); ++d) {
          product *= powers[d](static_cast<std::size_t>(states(i, d)),
                               static_cast<std::size_t>(states(j, d)));
        }
        whole(i, j) = product;
      }
    }
    return whole;
  }

  std::vector<long double> potential() const {
    const Matrix<double> cores = bridge.log_cores();
    std::vector<long double> v(states.rows(), 0.0L);
    for (std::size_t i = 0; i < states.rows(); ++i) {
      for (std::size_t k = 0; k < bridge.num_components(); ++k) {
        long double log = bridge.log_beta()[k];
        for (std::size_t d = 0; d < columns.size(); ++d) {
          log += cores(bridge.reference().start(d) + static_cast<std::size_t>(states(i, d)), k);
        }
        v[i] += std::exp(log);
      }
    }
    return v;
  }

  // E[v(x1) | x] when `rest` elementary steps are left.
  std::vector<long double> phi(int rest) const {
    const Wide q = reference(rest);
    const std::vector<long double> v = potential();
    std::vector<long double> sums(states.rows(), 0.0L);
    for (std::size_t i = 0; i < states.rows(); ++i) {
      for (std::size_t j = 0; j < states.rows(); ++j) sums[i] += q(i, j) * v[j];
    }
    return sums;
  }

  // q(x_{n+1} | x_n) over all states.
  Wide transition(int num_steps, int n) const {
    const int skip = kSteps / num_steps;
    Wide law = reference(skip);
    const std::vector<long double> before = phi((num_steps - n) * skip),
                                   after = phi((num_steps - n - 1) * skip);
    for (std::size_t i = 0; i < states.rows(); ++i) {
      for (std::size_t j = 0; j < states.rows(); ++j) law(i, j) *= after[j] / before[i];
    }
    return law;
  }

  // [M, total_categories].
  Matrix<double> log_marginals(const Wide& law) const {
    const ColumnReference& of = bridge.reference();
    Matrix<double> out(states.rows(), of.total_categories());
    for (std::size_t i = 0; i < states.rows(); ++i) {
      std::vector<long double> sums(of.total_categories(), 0.0L);
      for (std::size_t j = 0; j < states.rows(); ++j) {
        for (std::size_t d = 0; d < of.dim(); ++d) {
          sums[of.start(d) + static_cast<std::size_t>(states(j, d))] += law(i, j);
        }
      }
      for (std::size_t s = 0; s < sums.size(); ++s) {
        out(i, s) = static_cast<double>(std::log(sums[s]));
      }
    }
    return out;
  }
};

Case make_case(std::string name, std::vector<Column> columns, std::size_t K, std::uint64_t seed,
               double zero_share = 0.0) {
  std::vector<ReferenceProcess> processes;
  for (const Column& column : columns) processes.push_back(column.process);
  const ColumnReference reference(processes);
  std::mt19937_64 generator(seed);
  const auto draw = [&] { return 3.0 * (2.0 * testing::unit(generator) - 1.0); };
  std::vector<double> log_beta(K);
  for (double& value : log_beta) value = draw();
  Matrix<double> cores(reference.total_categories(), K);
  for (std::size_t d = 0; d < reference.dim(); ++d) {
    for (std::size_t s = 0; s < reference.num_categories(d); ++s) {
      for (std::size_t k = 0; k < K; ++k) {
        const bool zero = testing::unit(generator) < zero_share && s > 0;
        cores(reference.start(d) + s, k) = zero ? kLogZero : draw();
      }
    }
  }
  ColumnBridge bridge(reference, log_beta, cores);
  States states = states_of(reference);
  return {std::move(name), std::move(columns), std::move(bridge), std::move(states)};
}

Column uniform(int S, double gamma) {
  return {ReferenceProcess::uniform(S, gamma, kSteps), testing::uniform_step(S, gamma)};
}
Column gaussian(int S, double gamma) {
  return {ReferenceProcess::gaussian(S, gamma, kSteps), testing::gaussian_step(S, gamma)};
}
Column matrix(std::size_t S, std::uint64_t seed) {
  const Matrix<double> step = testing::random_stochastic(S, 0.9, seed);
  return {ReferenceProcess::from_matrix(step, kSteps), testing::widen(step)};
}
Column low_rank(std::size_t S, std::size_t rank, std::uint64_t seed) {
  const LowRankFactors factors = testing::random_low_rank(S, rank, 2.0, seed);
  return {ReferenceProcess::low_rank(factors.u, factors.v, 0.05, kSteps),
          testing::low_rank_step(factors, 0.05)};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back(make_case("two columns", {uniform(3, 0.02), gaussian(11, 0.15)}, 3, 1));
  all.push_back(make_case("a matrix, low rank and binary",
                          {matrix(4, 5), low_rank(6, 2, 6), uniform(2, 0.01)}, 4, 2, 0.3));
  all.push_back(
      make_case("two alike", {gaussian(5, 0.3), uniform(2, 0.9), gaussian(5, 0.3)}, 2, 3));
  all.push_back(make_case("one column", {gaussian(7, 0.2)}, 1, 4));
  return all;
}

std::vector<double> logs(const std::vector<long double>& values) {
  std::vector<double> out;
  for (const long double value : values) out.push_back(static_cast<double>(std::log(value)));
  return out;
}

TEST(ColumnBridge, PotentialAndNormalizerAreSumsOverStates) {
  for (const Case& item : cases()) {
    std::vector<double> actual(item.states.rows());
    item.bridge.log_potential(kContext, item.states, actual);
    EXPECT_TRUE(all_near(actual, logs(item.potential()), kLog)) << item.name;
    item.bridge.log_normalizer(kContext, item.states, actual);
    EXPECT_TRUE(all_near(actual, logs(item.phi(kSteps)), kLog)) << item.name;
  }
}

TEST(ColumnBridge, ConditionalsAndTransitionsAreTheReweightedReference) {
  for (const Case& item : cases()) {
    const testing::StatePairs pairs = testing::all_pairs(item.states);
    std::vector<double> actual(pairs.from.rows());
    for (const auto& [num_steps, n] : std::vector<std::pair<int, int>>{{1, 0}, {4, 0}, {4, 3}}) {
      const Wide law = item.transition(num_steps, n);
      item.bridge.log_transition(kContext, num_steps, n, pairs.from, pairs.to, actual);
      EXPECT_TRUE(all_near(actual, logs({law.data(), law.data() + law.size()}), kLog))
          << item.name << ", " << num_steps << " steps, n " << n;
    }
  }
}

TEST(ColumnBridge, MarginalsSumTheConditional) {
  for (const Case& item : cases()) {
    const ColumnReference& of = item.bridge.reference();
    const Matrix<double> expected = item.log_marginals(item.transition(1, 0));
    Matrix<double> actual(item.states.rows(), of.total_categories());
    item.bridge.write_log_column_marginals(kContext, item.states, actual);
    EXPECT_TRUE(all_near({actual.data(), actual.size()}, {expected.data(), expected.size()}, kLog))
        << item.name;
    // The same as every coupling writes them, and of a step in the middle.
    Array3<double> wide, of_step;
    item.bridge.log_marginals(kContext, item.states, wide);
    item.bridge.log_transition_marginals(kContext, 4, 2, item.states, of_step);
    const Matrix<double> expected_step = item.log_marginals(item.transition(4, 2));
    for (std::size_t b = 0; b < item.states.rows(); ++b) {
      for (std::size_t d = 0; d < of.dim(); ++d) {
        for (std::size_t s = 0; s < of.most_categories(); ++s) {
          const bool there = s < of.num_categories(d);
          EXPECT_EQ(wide(b, d, s), there ? actual(b, of.start(d) + s) : kLogZero);
          EXPECT_TRUE(testing::is_near(of_step(b, d, s),
                                       there ? expected_step(b, of.start(d) + s) : kLogZero, kLog));
        }
      }
    }
  }
}

TEST(ColumnBridge, DrawsFollowTheConditional) {
  const Case item = cases()[0];
  const Wide law = item.transition(1, 0);
  constexpr std::size_t kDraws = 20000;
  for (const std::size_t from : {std::size_t{0}, item.states.rows() - 1}) {
    States x1(kDraws, 2);
    item.bridge.sample(kContext, testing::repeat_row(item.states, from, kDraws),
                       {7, DrawPurpose::kConditional}, 0, x1);
    std::vector<std::size_t> counts(item.states.rows(), 0);
    for (std::size_t i = 0; i < kDraws; ++i) {
      ++counts[static_cast<std::size_t>(x1(i, 0) * 11 + x1(i, 1))];
    }
    std::vector<double> expected;
    for (std::size_t j = 0; j < law.cols(); ++j) {
      expected.push_back(static_cast<double>(law(from, j)));
    }
    EXPECT_TRUE(testing::fits(counts, expected)) << "from " << from;
  }
}

// Where no column differs, it is the CP bridge: the same numbers to rounding and the same draws.
TEST(ColumnBridge, AlikeColumnsAreTheCpBridge) {
  const ReferenceProcess process = ReferenceProcess::gaussian(9, 0.1, kSteps);
  const std::size_t D = 4, S = 9, K = 5;
  std::mt19937_64 generator(11);
  std::vector<double> log_beta(K);
  Array3<double> cores(D, S, K);
  for (double& value : log_beta) value = testing::unit(generator);
  for (std::size_t i = 0; i < cores.size(); ++i) cores.data()[i] = 6.0 * testing::unit(generator);
  const CpBridge same(process, CpPotential(log_beta, cores));
  const ColumnBridge columns(ColumnReference(std::vector<ReferenceProcess>(D, process)), log_beta,
                             Matrix<double>(D * S, K, {cores.data(), cores.data() + cores.size()}));
  States x0(500, D), drawn(500, D), expected(500, D);
  for (std::size_t i = 0; i < x0.size(); ++i) {
    x0.data()[i] = static_cast<std::int32_t>(generator() % S);
  }
  const DrawKey key{3, DrawPurpose::kConditional};
  same.sample(kContext, x0, key, 10, expected);
  columns.sample(kContext, x0, key, 10, drawn);
  EXPECT_EQ(drawn, expected);
  const DrawKey step_key{3, DrawPurpose::kTransition, 1};
  same.sample_transition(kContext, 4, 1, x0, step_key, 0, expected);
  columns.sample_transition(kContext, 4, 1, x0, step_key, 0, drawn);
  EXPECT_EQ(drawn, expected);
  Array3<double> actual, wanted;
  same.log_marginals(kContext, x0, wanted);
  columns.log_marginals(kContext, x0, actual);
  EXPECT_TRUE(all_near({actual.data(), actual.size()}, {wanted.data(), wanted.size()}, kLog));
}

TEST(ColumnBridge, RefusesWhatDoesNotFit) {
  const ReferenceProcess two = ReferenceProcess::uniform(2, 0.1, kSteps),
                         five = ReferenceProcess::gaussian(5, 0.2, kSteps);
  contains(error_of<InvalidArgument>([&] { ColumnReference({}); }), "at least one column");
  contains(error_of<InvalidArgument>([&] {
             ColumnReference({two, ReferenceProcess::uniform(2, 0.1, 8)});
           }),
           "total_steps must be 16 in all columns, got 8 in column 1");
  const ColumnReference reference({two, five});
  contains(error_of<InvalidArgument>([&] {
             ColumnBridge(reference, {0.0}, {5, 1, 0.0});
           }),
           "log_cores must have shape [7, 1 >= 1], got [5, 1]");
  Matrix<double> cores(7, 1, 0.0);
  cores(0, 0) = cores(1, 0) = kLogZero;
  contains(error_of<InvalidArgument>([&] { ColumnBridge(reference, {0.0}, cores); }),
           "positive somewhere");
  const ColumnBridge bridge(reference, {0.0}, {7, 1, 0.0});
  std::vector<double> out(1);
  contains(error_of<InvalidArgument>([&] {
             bridge.log_potential(kContext, States(1, 2, {2, 4}), out);
           }),
           "x must hold categories 0..1 in column 0, got 2 at row 0");
  contains(error_of<InvalidArgument>([&] { bridge.log_potential(kContext, States(1, 3), out); }),
           "x must have 2 columns");
  EXPECT_THROW(bridge.log_potential({.device = Device::kCuda}, States(1, 2), out), DeviceError);
}

}  // namespace bridgemark::column_bridge_testing
