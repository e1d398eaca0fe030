#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/process/low_rank_step.h"
#include "bridgemark/process/pinned_reference.h"
#include "bridgemark/process/power_cache.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/process/same_process.h"
#include "tests/io/io_testing.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/random_low_rank.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;
using testing::contains;
using testing::error_of;
using testing::is_near;
using testing::kContext;
using testing::random_low_rank;
using testing::Tolerance;
using testing::Wide;

constexpr Tolerance kOperator{1e-12, 1e-12};  // of logarithms

ReferenceProcess low_rank_process(const LowRankFactors& factors, double gamma, int steps = 128) {
  return ReferenceProcess::low_rank(factors.u, factors.v, gamma, steps);
}

// Rows, columns and entries of a power are those of the table.
void expect_operator(const backend::FactoredPower& power, const Matrix<double>& table,
                     const std::string& name) {
  const std::size_t S = table.rows();
  std::vector<double> row(S), column(S), expected(S);
  for (std::size_t x = 0; x < S; x += 1 + S / 16) {
    power.log_row(x, row.data());
    power.log_column(x, column.data());
    ASSERT_TRUE(all_near(row, {table.row(x), S}, kOperator)) << name << ", row " << x;
    for (std::size_t s = 0; s < S; ++s) expected[s] = table(s, x);
    ASSERT_TRUE(all_near(column, expected, kOperator)) << name << ", column " << x;
    for (const std::size_t y : {std::size_t{0}, x, S - 1}) {
      ASSERT_TRUE(is_near(power.log_entry(x, y), table(x, y), kOperator)) << name;
    }
  }
  std::vector<double> log_weights(S), moved(S), terms(S);
  for (std::size_t s = 0; s < S; ++s) log_weights[s] = s % 3 == 0 ? kLogZero : -0.5 * double(s);
  power.log_transport(log_weights.data(), moved.data());
  for (std::size_t y = 0; y < S; ++y) {
    for (std::size_t s = 0; s < S; ++s) terms[s] = log_weights[s] + table(s, y);
    expected[y] = log_sum(terms.data(), S);
  }
  EXPECT_TRUE(all_near(moved, expected, kOperator)) << name;
}

Matrix<double> narrowed(const Wide& wide) {
  Matrix<double> values(wide.rows(), wide.cols());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    values.data()[i] = static_cast<double>(wide.data()[i]);
  }
  return values;
}

TEST(ReferenceOperator, PowersOfLowRankAreMatrixPowers) {
  struct Case {
    std::size_t S, r;
    double spread, gamma, zeros;
  };
  for (const Case& c :
       {Case{2, 1, 1.0, 0.3, 0.0}, Case{9, 3, 2.0, 0.05, 0.0}, Case{7, 4, 3.0, 1.0, 0.5},
        Case{12, 3, 150.0, 0.01, 0.0}, Case{11, 2, 1.0, 1e-9, 0.3}, Case{5, 8, 20.0, 0.5, 0.2}}) {
    const LowRankFactors factors = random_low_rank(c.S, c.r, c.spread, 100 * c.S + c.r, c.zeros);
    const ReferenceProcess process = low_rank_process(factors, c.gamma);
    const Wide step = testing::low_rank_step(factors, c.gamma);
    for (const int n : {1, 2, 3, 7, 64, 127, 128}) {
      const Matrix<double> expected = narrowed(testing::log_of(testing::power(step, n)));
      const std::string name = fmt::format("S {}, r {}, n {}", c.S, c.r, n);
      expect_operator(*process.factored_power(kContext, n), expected, name);
      const Matrix<double> table = process.log_power_once(kContext, n);
      EXPECT_TRUE(
          all_near({table.data(), table.size()}, {expected.data(), expected.size()}, kOperator))
          << name;
    }
  }
}

// At a size where a table is still made, both say the same.
TEST(ReferenceOperator, AgreesWithTables) {
  const LowRankFactors factors = random_low_rank(512, 16, 5.0, 3);
  Matrix<double> step = narrowed(testing::low_rank_step(factors, 0.02));
  const ReferenceProcess by_factors = low_rank_process(factors, 0.02),
                         by_table = ReferenceProcess::from_matrix(step);
  const ReferenceProcess uniform = ReferenceProcess::uniform(512, 0.005);
  for (const int n : {1, 5, 128}) {
    expect_operator(*by_factors.factored_power(kContext, n), by_table.log_power_once(kContext, n),
                    fmt::format("low rank, n {}", n));
    expect_operator(*uniform.factored_power(kContext, n), uniform.log_power_once(kContext, n),
                    fmt::format("uniform, n {}", n));
  }
  EXPECT_EQ(by_table.factored_power(kContext, 1), nullptr);
  EXPECT_EQ(ReferenceProcess::gaussian(5, 0.1).factored_power(kContext, 1), nullptr);
  EXPECT_EQ(uniform.factored_power(kContext, 0), nullptr);
}

TEST(ReferenceOperator, LowRankKnowsItsReversalAndMovement) {
  for (const double zeros : {0.0, 0.4}) {
    const LowRankFactors factors = random_low_rank(10, 3, 2.0, 11, zeros);
    const ReferenceProcess process = low_rank_process(factors, 0.1, 16);
    const ReferenceProcess table =
        ReferenceProcess::from_matrix(narrowed(testing::low_rank_step(factors, 0.1)), 16);
    EXPECT_TRUE(
        all_near(process.log_stationary(), table.log_stationary(), Tolerance{1e-11, 1e-11}));
    EXPECT_NEAR(process.expected_movement(), table.expected_movement(), 1e-12);
    const ReferenceProcess back = process.time_reversed();
    EXPECT_EQ(back.kind(), ReferenceKind::kLowRank);
    for (const int n : {1, 16}) {
      const Matrix<double> mine = back.log_power_once(kContext, n),
                           theirs = table.time_reversed().log_power_once(kContext, n);
      EXPECT_TRUE(all_near({mine.data(), mine.size()}, {theirs.data(), theirs.size()},
                           Tolerance{1e-11, 1e-11}));
    }
    EXPECT_FALSE(process.is_symmetric());
    EXPECT_TRUE(same_process(process, low_rank_process(factors, 0.1, 16)));
    EXPECT_FALSE(same_process(process, low_rank_process(factors, 0.2, 16)));
    EXPECT_FALSE(same_process(process, back));
  }
  // A uniform reference says without its table how far it moves.
  const ReferenceProcess uniform = ReferenceProcess::uniform(9, 0.2, 4);
  double sum = 0.0;
  for (int x = 0; x < 9; ++x) {
    for (int y = 0; y < 9; ++y) sum += 0.2 / 8.0 * std::abs(x - y);
  }
  EXPECT_NEAR(uniform.expected_movement(), 4.0 * sum / 9.0, 1e-12);
}

// 50,257 categories: 20 GB for a table, which nobody makes.
TEST(ReferenceOperator, ManyCategoriesNeedNoTable) {
  constexpr int kS = 50257;
  const ReferenceProcess process = ReferenceProcess::uniform(kS, 0.01);
  EXPECT_FALSE(process.has_tables());
  const ReferenceChain chain(process, 4);
  std::vector<double> row(kS);
  for (const int n : {0, 1, 4}) {
    const backend::ReferencePower power = chain.power(kContext, n);
    EXPECT_EQ(power.table(), nullptr);
    power.log_row(17, row.data());
    long double sum = 0.0L;  // in double 50,257 terms alone would be off by 1e-12
    for (const double value : row) sum += std::exp(static_cast<long double>(value));
    EXPECT_NEAR(static_cast<double>(sum), 1.0, 1e-12) << n;
    const double a = std::pow(1.0 - 0.01 * kS / (kS - 1.0), 32 * n);
    EXPECT_NEAR(std::exp(power.log_entry(17, 17)), a + (1.0 - a) / kS, 1e-12);
    EXPECT_NEAR(std::exp(power.log_entry(17, 18)), (1.0 - a) / kS, 1e-16);
    const std::int32_t from[] = {17, 3}, to[] = {17, 4};
    EXPECT_EQ(power.log_of_rows(from, to, 2), power.log_entry(17, 17) + power.log_entry(3, 4));
  }
  // Between 5 and 5 in the middle of the way nearly all stay.
  const PinnedReference pinned = PinnedReference::marginal(kContext, chain, 2);
  pinned.log_probabilities(5, 5, row.data());
  const double half = std::pow(1.0 - 0.01 * kS / (kS - 1.0), 64), off = (1.0 - half) / kS;
  const double stays = (half + off) * (half + off);
  EXPECT_NEAR(std::exp(row[5]), stays / (stays + (kS - 1.0) * off * off), 1e-12);
  EXPECT_EQ(error_of<InvalidArgument>([&] { process.log_power(kContext, 1); }),
            "[reference] num_categories of a uniform reference must be at most 4096 for what needs "
            "its whole matrix, got 50257");
  EXPECT_GT(process.expected_movement(), 1000.0);
}

// Between two states a coordinate is at one of them or, more rarely, anywhere else.
TEST(ReferenceOperator, PinnedDrawsWithoutATableFit) {
  constexpr int kS = 5000, kFrom = 3, kEnd = 9;
  constexpr std::size_t kRows = 3000;
  const ReferenceChain chain(ReferenceProcess::uniform(kS, 0.5, 4), 2);
  const PinnedReference pinned = PinnedReference::step(kContext, chain, 0);
  std::vector<double> log_p(kS), p(3, 0.0);
  pinned.log_probabilities(kFrom, kEnd, log_p.data());
  const auto bin = [](int s) { return s == kFrom ? 0u : s == kEnd ? 1u : 2u; };
  for (int s = 0; s < kS; ++s) p[bin(s)] += std::exp(log_p[static_cast<std::size_t>(s)]);
  EXPECT_NEAR(p[0] + p[1] + p[2], 1.0, 1e-12);
  EXPECT_NEAR(p[0], p[1], 1e-12);  // to stay and then go, or to go and then stay
  States from(kRows, 1, kFrom), end(kRows, 1, kEnd), drawn(kRows, 1);
  pinned.sample(kContext, from, end, {7, DrawPurpose::kPinned}, 0, drawn);
  std::vector<std::size_t> counts(3, 0);
  for (std::size_t i = 0; i < kRows; ++i) ++counts[bin(drawn(i, 0))];
  EXPECT_TRUE(testing::fits(counts, p));
}

TEST(ReferenceOperator, RefusesBadFactors) {
  const auto message = [](const LowRankFactors& factors, double gamma = 0.1) {
    return error_of<InvalidArgument>([&] { low_rank_process(factors, gamma); });
  };
  LowRankFactors factors = random_low_rank(4, 2, 1.0, 1);
  EXPECT_EQ(message(factors, 0.0),
            "[reference] gamma of a reference of low rank must lie in (0, 1], got 0");
  EXPECT_EQ(message(factors, 1.5),
            "[reference] gamma of a reference of low rank must lie in (0, 1], got 1.5");
  EXPECT_EQ(message({factors.u, Matrix<double>(4, 3, 0.1)}),
            "[reference] U and V must both have shape [S, r] with r >= 1, got [4, 2] and [4, 3]");
  LowRankFactors bad = factors;
  bad.v(2, 1) = -0.5;
  EXPECT_EQ(message(bad), "[reference] V must be finite and not negative, got -0.5 at [2, 1]");
  bad = factors;
  for (std::size_t j = 0; j < 2; ++j) bad.u(3, j) *= 2.0;
  contains(message(bad), "each row of U V^T must sum to 1, got ");
  contains(message(bad), " for row 3");
  bad = factors;
  bad.u(1, 0) = 0.0;
  bad.v(3, 1) = 0.0;
  EXPECT_EQ(message(bad), "[reference] U V^T must be strictly positive, got 0 at [1, 3]");
  EXPECT_EQ(error_of<InvalidArgument>([] { ReferenceProcess::uniform(5000, 0.9999); }),
            "[reference] gamma of a uniform reference with more than 4096 categories must be at "
            "most 1 - 1/S, got 0.9999");
}

TEST(PowerCache, KeepsThoseAskedForLastWithinItsLimit) {
  PowerCache<int> cache(100);
  const auto keep = [&](int n, std::size_t bytes) {
    return cache.keep(n, std::make_shared<const int>(n), bytes);
  };
  const auto held = keep(1, 40);
  keep(2, 40);
  EXPECT_NE(cache.find(1), nullptr);  // now 2 is the one asked for first
  keep(3, 40);
  EXPECT_EQ(cache.find(2), nullptr);
  EXPECT_NE(cache.find(1), nullptr);
  EXPECT_EQ(cache.size(), 2u);
  keep(4, 1000);  // the newest stays, however large
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_NE(cache.find(4), nullptr);
  EXPECT_EQ(*held, 1);                                              // who holds one has it
  EXPECT_EQ(*cache.keep(4, std::make_shared<const int>(5), 1), 4);  // the first one stays
}

}  // namespace
}  // namespace bridgemark
