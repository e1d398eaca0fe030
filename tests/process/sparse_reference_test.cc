#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/backend/plan/sparse_power.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/process/same_process.h"
#include "bridgemark/process/sparse_step.h"
#include "tests/io/io_testing.h"
#include "tests/support/context.h"
#include "tests/support/random_bridge.h"
#include "tests/support/sparse_steps.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;
using testing::contains;
using testing::error_of;
using testing::kContext;
using testing::Tolerance;
using testing::uneven_ring;
using testing::Wide;

constexpr Tolerance kSparse{1e-12, 1e-12};  // of logarithms

Matrix<double> log_of_power(const Wide& step, int n) {
  const Wide log = testing::log_of(testing::power(step, n));
  Matrix<double> values(log.rows(), log.cols());
  for (std::size_t i = 0; i < log.size(); ++i) {
    values.data()[i] = static_cast<double>(log.data()[i]);
  }
  return values;
}

void expect_same(const Matrix<double>& a, const Matrix<double>& b, const std::string& name,
                 Tolerance tolerance = kSparse) {
  ASSERT_TRUE(all_near({a.data(), a.size()}, {b.data(), b.size()}, tolerance)) << name;
}

struct SparseCase {
  std::string name;
  ReferenceProcess process;
  Wide step;
};

// A graph of two parts between which no way leads, the second of which is quicker.
GraphWeights two_parts() { return {{0, 1, 2, 4, 5}, {1, 0, 3, 3, 2}, {0.3, 0.3, 0.5, 0.5, 0.8}}; }

std::vector<SparseCase> sparse_cases() {
  const GraphWeights ring = uneven_ring(6);
  return {
      {"birth-death", ReferenceProcess::birth_death(9, 0.3), testing::birth_death_step(9, 0.3L)},
      {"slow birth-death", ReferenceProcess::birth_death(12, 1e-9),
       testing::birth_death_step(12, 1e-9)},
      {"two counts", ReferenceProcess::birth_death(2, 0.9), testing::birth_death_step(2, 0.9)},
      {"absorbing", ReferenceProcess::absorbing(5, 0.02), testing::absorbing_step(5, 0.02)},
      {"quick absorbing", ReferenceProcess::absorbing(3, 0.999), testing::absorbing_step(3, 0.999)},
      {"graph", ReferenceProcess::graph(ring, 0.1), testing::graph_step(ring, 0.1)},
      {"quick graph", ReferenceProcess::graph(ring, 1.0), testing::graph_step(ring, 1.0L)},
      {"two parts", ReferenceProcess::graph(two_parts(), 0.5),
       testing::graph_step(two_parts(), 0.5L)},
  };
}

// What no way leads to is 0 on both sides, and what 128 slow steps lead to has 1e-100 and less.
TEST(SparseReference, PowersAreMatrixPowers) {
  for (const SparseCase& c : sparse_cases()) {
    for (const int n : {1, 2, 3, 7, 64, 127, 128}) {
      const Matrix<double> expected = log_of_power(c.step, n);
      expect_same(c.process.sparse_power(kContext, n)->log_table(), expected,
                  fmt::format("{}, {} steps", c.name, n));
      expect_same(c.process.log_power_once(kContext, n), expected, c.name);
    }
    EXPECT_EQ(c.process.log_power(kContext, 0)(1, 1), 0.0);
    EXPECT_EQ(c.process.log_power(kContext, 0)(1, 0), kLogZero);
  }
}

// At 512 counts an entry far away is the product of 128 probabilities, and one further away is 0.
TEST(SparseReference, FarEntriesAreExact) {
  const double gamma = 1e-5;
  const ReferenceProcess process = ReferenceProcess::birth_death(512, gamma);
  const Matrix<double> power = process.log_power_once(kContext, 128);
  EXPECT_TRUE(testing::is_near(power(200, 328), 128 * std::log(gamma / 2.0), kSparse));
  EXPECT_TRUE(testing::is_near(power(200, 327),
                               std::log(128.0) + std::log1p(-gamma) + 127 * std::log(gamma / 2.0),
                               kSparse));
  EXPECT_EQ(power(200, 329), kLogZero);
  for (std::size_t x : {0, 100, 511}) EXPECT_NEAR(log_sum(power.row(x), 512), 0.0, 1e-12);
}

// Against the powers of a table in which the zeros are 1e-300, far below what is compared.
TEST(SparseReference, AgreesWithTablesAtManyCategories) {
  constexpr std::size_t kS = 512;
  GraphWeights weights{{0}, {}, {}};
  for (std::size_t x = 0; x < kS; ++x) {
    for (std::size_t step : {1u, 7u, 45u, 201u}) {
      weights.to.push_back(static_cast<std::int32_t>((x * step + step) % kS));
      weights.weight.push_back(0.25);
    }
    weights.first.push_back(static_cast<std::int64_t>(weights.to.size()));
  }
  const ReferenceProcess sparse = ReferenceProcess::graph(weights, 0.4, 16);
  Matrix<double> step = sparse.log_power_once(kContext, 1);
  for (std::size_t i = 0; i < step.size(); ++i) {
    step.data()[i] = std::max(std::exp(step.data()[i]), 1e-300);
  }
  const ReferenceProcess dense = ReferenceProcess::from_matrix(step, 16);
  const Matrix<double> a = sparse.log_power_once(kContext, 16),
                       b = dense.log_power_once(kContext, 16);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.data()[i] == kLogZero) {
      EXPECT_LT(b.data()[i], -600.0);
    } else {
      ASSERT_NEAR(a.data()[i], b.data()[i], 1e-12) << i;
    }
  }
}

// To a mask among 50,257 words and the mask: an operator of rank 1, without a table.
TEST(SparseReference, AbsorbingHasFactors) {
  for (const auto& [S, gamma] : {std::pair(512, 0.02), std::pair(7, 1e-12), std::pair(9, 0.999)}) {
    const ReferenceProcess process = ReferenceProcess::absorbing(S, gamma);
    for (const int n : {1, 5, 128}) {
      const auto factors = process.factored_power(kContext, n);
      const Matrix<double> table = process.sparse_power(kContext, n)->log_table();
      expect_same(factors->log_table(), table, fmt::format("S {}, n {}", S, n));
      std::vector<double> column(table.rows()), expected(table.rows());
      for (const std::size_t to : {std::size_t{0}, table.rows() - 1}) {
        factors->log_column(to, column.data());
        for (std::size_t s = 0; s < table.rows(); ++s) expected[s] = table(s, to);
        EXPECT_TRUE(all_near(column, expected, kSparse));
      }
    }
  }
  const ReferenceProcess words = ReferenceProcess::absorbing(50258, 0.02);
  EXPECT_FALSE(words.has_tables());
  const backend::ReferencePower power = words.power(kContext, 128);
  EXPECT_TRUE(testing::is_near(power.log_entry(17, 17), 128 * std::log1p(-0.02), kSparse));
  EXPECT_TRUE(testing::is_near(power.log_entry(17, 50257), std::log1p(-std::pow(0.98, 128)),
                               Tolerance{1e-12, 1e-14}));
  EXPECT_EQ(power.log_entry(17, 18), kLogZero);
  EXPECT_NEAR(power.log_entry(50257, 50257), 0.0, 1e-15);
  EXPECT_EQ(power.log_entry(50257, 17), kLogZero);
}

TEST(SparseReference, CoresAreSeenThroughIt) {
  for (const SparseCase& c : sparse_cases()) {
    const auto S = static_cast<std::size_t>(c.process.num_categories());
    Array3<double> cores(2, S, 3), seen(2, S, 3);
    for (std::size_t i = 0; i < cores.size(); ++i) {
      cores.data()[i] = i % 7 == 0 ? kLogZero : -50.0 * static_cast<double>(i % 31);
    }
    const auto power = c.process.sparse_power(kContext, 7);
    const Matrix<double> table = power->log_table();
    backend::propagate_cores(kContext, *power, cores, seen);
    std::vector<double> terms(S);
    for (std::size_t d = 0; d < 2; ++d) {
      for (std::size_t x = 0; x < S; ++x) {
        for (std::size_t k = 0; k < 3; ++k) {
          for (std::size_t y = 0; y < S; ++y) terms[y] = table(x, y) + cores(d, y, k);
          ASSERT_TRUE(testing::is_near(seen(d, x, k), log_sum(terms.data(), S), kSparse)) << c.name;
        }
      }
    }
  }
}

TEST(SparseReference, KnowsItsReversalAndMovement) {
  const ReferenceProcess counts = ReferenceProcess::birth_death(8, 0.2, 16);
  EXPECT_TRUE(counts.is_symmetric() && counts.has_reversal());
  EXPECT_TRUE(same_process(counts, counts.time_reversed()));
  EXPECT_NEAR(counts.expected_movement(), 16 * 0.2 * 7.0 / 8.0, 1e-12);

  const ReferenceProcess ring = ReferenceProcess::graph(uneven_ring(6), 1.0, 16);
  EXPECT_FALSE(ring.is_symmetric());
  const std::vector<double> log_pi = ring.log_stationary();
  const Matrix<double> step = ring.log_power_once(kContext, 1),
                       back = ring.time_reversed().log_power_once(kContext, 1);
  std::vector<double> terms(6);
  for (std::size_t y = 0; y < 6; ++y) {
    for (std::size_t x = 0; x < 6; ++x) {
      terms[x] = log_pi[x] + step(x, y);
      EXPECT_TRUE(testing::is_near(back(y, x), log_pi[x] + step(x, y) - log_pi[y],
                                   Tolerance{1e-11, 1e-11}));
    }
    EXPECT_NEAR(log_sum(terms.data(), 6), log_pi[y], 1e-11);
  }
  EXPECT_EQ(ring.time_reversed().gamma(), 1.0);
  EXPECT_TRUE(same_process(ring, ring.time_reversed().time_reversed()));
  EXPECT_FALSE(same_process(ring, ring.time_reversed()));
  EXPECT_FALSE(same_process(ring, ReferenceProcess::graph(uneven_ring(6), 0.5, 16)));

  // Rates that are the same both ways need no way from each category to each other.
  const GraphWeights pairs{{0, 1, 2, 3, 4}, {1, 0, 3, 2}, {0.5, 0.5, 2.0, 2.0}};
  EXPECT_TRUE(ReferenceProcess::graph(pairs, 0.3).has_reversal());
}

TEST(SparseReference, RefusesAReversalThatIsNot) {
  const ReferenceProcess mask = ReferenceProcess::absorbing(4, 0.1),
                         parts = ReferenceProcess::graph(two_parts(), 0.5);
  EXPECT_FALSE(mask.has_reversal());
  EXPECT_FALSE(parts.has_reversal());
  EXPECT_TRUE(contains(error_of<InvalidArgument>([&] { mask.time_reversed(); }),
                       "the absorbing one never leads from 0 to 1"));
  EXPECT_TRUE(contains(error_of<InvalidArgument>([&] { parts.log_stationary(); }),
                       "the graph one never leads from 0 to 2"));
}

// Rows are probabilities where they agree, else rates; entries of one place are added.
TEST(SparseReference, WeightsAreProbabilitiesOrRates) {
  const GraphWeights walk{
      {0, 2, 4, 6}, {1, 2, 0, 2, 0, 1}, {0.25, 0.75, 1.0 / 3, 2.0 / 3, 0.5, 0.5}};
  const Matrix<double> moved = ReferenceProcess::graph(walk, 0.2).log_power_once(kContext, 1);
  EXPECT_NEAR(std::exp(moved(0, 2)), 0.2 * 0.75, 1e-15);
  EXPECT_NEAR(std::exp(moved(1, 1)), 0.8, 1e-15);
  const GraphWeights rates{{0, 2, 3, 3}, {1, 1, 0}, {3.0, 1.0, 1.0}};
  const Matrix<double> slow = ReferenceProcess::graph(rates, 0.2).log_power_once(kContext, 1);
  EXPECT_NEAR(std::exp(slow(0, 1)), 0.2, 1e-15);
  EXPECT_NEAR(std::exp(slow(1, 0)), 0.05, 1e-15);
  EXPECT_NEAR(std::exp(slow(1, 1)), 0.95, 1e-15);
  EXPECT_EQ(slow(2, 2), 0.0);
  EXPECT_EQ(slow(0, 2), kLogZero);
}

TEST(SparseReference, RefusesWhatIsNoReference) {
  const auto message = [](auto&& make) { return error_of<InvalidArgument>(make); };
  EXPECT_TRUE(contains(message([] { ReferenceProcess::birth_death(9, 1.0); }),
                       "gamma of a birth-death reference must lie in (0, 1), got 1"));
  EXPECT_TRUE(contains(message([] { ReferenceProcess::absorbing(9, 0.0); }),
                       "gamma of an absorbing reference must lie in (0, 1), got 0"));
  EXPECT_TRUE(contains(message([] { ReferenceProcess::birth_death(4097, 0.1); }),
                       "num_categories of a birth-death reference must lie in 2..4096, got 4097"));
  const auto graph = [&](GraphWeights weights, double gamma = 0.1) {
    return message([&] { ReferenceProcess::graph(std::move(weights), gamma); });
  };
  EXPECT_TRUE(contains(graph(uneven_ring(4), 1.5), "must lie in (0, 1], got 1.5"));
  EXPECT_TRUE(
      contains(graph({{0, 1, 2}, {1, 2}, {1.0, 1.0}}), "must lead to 0..1, got 2 at entry"));
  EXPECT_TRUE(contains(graph({{0, 1, 2}, {1, 0}, {1.0, -1.0}}), "not negative, got -1 at entry 1"));
  EXPECT_TRUE(contains(graph({{0, 1, 2}, {1, 0}, {1.0}}), "as many weights as column indices"));
  EXPECT_TRUE(contains(graph({{0, 2, 1}, {1, 0}, {1.0, 1.0}}), "ascend and end at 2"));
  EXPECT_TRUE(contains(graph({{0, 0, 0}, {}, {}}), "one of them positive, got 0"));
  Context device;
  device.device = Device::kCuda;
  EXPECT_TRUE(
      contains(error_of<DeviceError>([&] { ReferenceProcess::absorbing(4, 0.1).power(device, 2); }),
               "the device has no reference of kind absorbing"));
}

}  // namespace
}  // namespace bridgemark
