#include "bridgemark/process/pinned_reference.h"

#include <gtest/gtest.h>

#include <cmath>
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
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;
using testing::error_of;
using testing::kContext;
using testing::Tolerance;
using testing::Wide;

constexpr Tolerance kLog{1e-12, 1e-12};
constexpr int kPinnedSteps = 4;

// One coordinate of a chain of four steps beside the matrix of one of its steps.
struct ChainCase {
  std::string name;
  ReferenceChain chain;
  Wide step;
};

std::vector<ChainCase> chain_cases() {
  const Matrix<double> slow = testing::random_stochastic(3, 0.98, 21);
  const Matrix<double> fast = testing::random_stochastic(4, 0.0, 22);
  const auto grouped = [](const Wide& step) { return testing::power(step, 128 / kPinnedSteps); };
  return {{"uniform",
           {ReferenceProcess::uniform(3, 0.01), kPinnedSteps},
           grouped(testing::uniform_step(3, 0.01))},
          {"uniform, gamma 0.999",
           {ReferenceProcess::uniform(2, 0.999), kPinnedSteps},
           grouped(testing::uniform_step(2, 0.999))},
          {"gaussian",
           {ReferenceProcess::gaussian(4, 0.3), kPinnedSteps},
           grouped(testing::gaussian_step(4, 0.3))},
          {"matrix",
           {ReferenceProcess::from_matrix(slow), kPinnedSteps},
           grouped(testing::widen(slow))},
          {"matrix, elementary steps",
           {ReferenceProcess::from_matrix(fast, kPinnedSteps), kPinnedSteps},
           testing::widen(fast)}};
}

// Weights of all paths from x0 to x1 with their middle, summed by `classify(path)`.
template <typename Classify>
std::vector<long double> sum_paths(const Wide& step, int x0, int x1, Classify&& classify) {
  const int S = static_cast<int>(step.rows());
  const States middles = testing::all_states(kPinnedSteps - 1, S);
  std::vector<long double> sums(static_cast<std::size_t>(S * S), 0.0L);
  for (std::size_t i = 0; i < middles.rows(); ++i) {
    std::vector<int> path{x0};
    path.insert(path.end(), middles.row(i), middles.row(i) + kPinnedSteps - 1);
    path.push_back(x1);
    long double weight = 1.0L;
    for (std::size_t n = 0; n < kPinnedSteps; ++n) {
      weight *= step(static_cast<std::size_t>(path[n]), static_cast<std::size_t>(path[n + 1]));
    }
    sums[static_cast<std::size_t>(classify(path))] += weight;
  }
  return sums;
}

// log of values[first..first+S) over their sum.
std::vector<double> log_share(const std::vector<long double>& values, std::size_t first,
                              std::size_t S) {
  long double total = 0.0L;
  for (std::size_t s = 0; s < S; ++s) total += values[first + s];
  std::vector<double> log;
  for (std::size_t s = 0; s < S; ++s) {
    log.push_back(static_cast<double>(std::log(values[first + s] / total)));
  }
  return log;
}

std::vector<double> log_probabilities(const PinnedReference& pinned, int from, int end,
                                      std::size_t S) {
  std::vector<double> out(S);
  pinned.log_probabilities(from, end, out.data());
  return out;
}

TEST(PinnedReference, MarginalsAreSumsOverPaths) {
  for (const ChainCase& item : chain_cases()) {
    const int S = item.chain.num_categories();
    for (int n = 0; n <= kPinnedSteps; ++n) {
      const PinnedReference pinned = PinnedReference::marginal(kContext, item.chain, n);
      for (int x0 = 0; x0 < S; ++x0) {
        for (int x1 = 0; x1 < S; ++x1) {
          const auto sums = sum_paths(item.step, x0, x1, [&](const std::vector<int>& path) {
            return path[static_cast<std::size_t>(n)];
          });
          EXPECT_TRUE(all_near(log_probabilities(pinned, x0, x1, static_cast<std::size_t>(S)),
                               log_share(sums, 0, static_cast<std::size_t>(S)), kLog))
              << item.name << ", n " << n << ", " << x0 << " -> " << x1;
        }
      }
    }
  }
}

TEST(PinnedReference, StepsAreSumsOverPaths) {
  for (const ChainCase& item : chain_cases()) {
    const int S = item.chain.num_categories();
    for (int n = 0; n < kPinnedSteps; ++n) {
      const PinnedReference pinned = PinnedReference::step(kContext, item.chain, n);
      for (int x1 = 0; x1 < S; ++x1) {
        // Any start: given x_n the past does not matter, and where n = 0 it must be x_n itself.
        for (int x_n = 0; x_n < S; ++x_n) {
          const int x0 = n == 0 ? x_n : 1;
          const auto sums = sum_paths(item.step, x0, x1, [&](const std::vector<int>& path) {
            const auto at = static_cast<std::size_t>(n);
            return path[at] * S + path[at + 1];
          });
          EXPECT_TRUE(all_near(
              log_probabilities(pinned, x_n, x1, static_cast<std::size_t>(S)),
              log_share(sums, static_cast<std::size_t>(x_n * S), static_cast<std::size_t>(S)),
              kLog))
              << item.name << ", n " << n << ", " << x_n << " -> " << x1;
        }
      }
    }
  }
}

TEST(PinnedReference, EndsArePoints) {
  for (const ChainCase& item : chain_cases()) {
    const int S = item.chain.num_categories();
    const PinnedReference start = PinnedReference::marginal(kContext, item.chain, 0);
    const PinnedReference finish = PinnedReference::marginal(kContext, item.chain, kPinnedSteps);
    const PinnedReference last = PinnedReference::step(kContext, item.chain, kPinnedSteps - 1);
    for (int x0 = 0; x0 < S; ++x0) {
      for (int x1 = 0; x1 < S; ++x1) {
        const auto at = [&](const PinnedReference& pinned, int s) {
          return log_probabilities(pinned, x0, x1,
                                   static_cast<std::size_t>(S))[static_cast<std::size_t>(s)];
        };
        for (int s = 0; s < S; ++s) {
          EXPECT_EQ(at(start, s), s == x0 ? 0.0 : kLogZero) << item.name;
          EXPECT_EQ(at(finish, s), s == x1 ? 0.0 : kLogZero) << item.name;
          EXPECT_EQ(at(last, s), s == x1 ? 0.0 : kLogZero) << item.name;
        }
      }
    }
  }
}

// One column for each (from, end), so that one draw checks all of them. The tests of a chain make
// (2 * 4 + 1) * S^2 comparisons, each with the false-alarm rate of chi_square.h.
TEST(PinnedReference, DrawsFollowTheProbabilities) {
  constexpr std::size_t kRows = 20000;
  for (const ChainCase& item : chain_cases()) {
    const int S = item.chain.num_categories();
    const auto width = static_cast<std::size_t>(S);
    const States pairs = testing::all_states(2, S);
    States from(kRows, pairs.rows()), end(kRows, pairs.rows()), drawn(kRows, pairs.rows());
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t d = 0; d < pairs.rows(); ++d) {
        from(i, d) = pairs(d, 0);
        end(i, d) = pairs(d, 1);
      }
    }
    const auto check = [&](const PinnedReference& pinned, std::uint32_t n) {
      pinned.sample(kContext, from, end, {5, DrawPurpose::kPinned, n}, 0, drawn);
      for (std::size_t d = 0; d < pairs.rows(); ++d) {
        std::vector<std::size_t> counts(width, 0);
        for (std::size_t i = 0; i < kRows; ++i) ++counts[static_cast<std::size_t>(drawn(i, d))];
        std::vector<double> p = log_probabilities(pinned, pairs(d, 0), pairs(d, 1), width);
        for (double& value : p) value = std::exp(value);
        EXPECT_TRUE(testing::fits(counts, p)) << item.name << ", n " << n << ", column " << d;
      }
    };
    for (int n = 0; n <= kPinnedSteps; ++n) {
      check(PinnedReference::marginal(kContext, item.chain, n), static_cast<std::uint32_t>(n));
    }
    for (int n = 0; n < kPinnedSteps; ++n) {
      check(PinnedReference::step(kContext, item.chain, n), static_cast<std::uint32_t>(n) + 100);
    }
  }
}

// Ends 5 categories apart at gamma = 1e-4: every single weight is far below 1e-300, their shares
// are not. A walk of unit moves is left, so the middle of the bridge lies in the middle.
TEST(PinnedReference, TinyGammaIsExact) {
  constexpr std::size_t kS = 6;
  for (const bool gaussian : {false, true}) {
    const ReferenceProcess process =
        gaussian ? ReferenceProcess::gaussian(kS, 1e-4, 8) : ReferenceProcess::uniform(kS, 1e-4, 8);
    const ReferenceChain chain(process, 8);
    Wide step(kS, kS);
    for (std::size_t x = 0; x < kS; ++x) {
      for (std::size_t y = 0; y < kS; ++y) {
        const long double move = (static_cast<long double>(x) - static_cast<long double>(y)) /
                                 (static_cast<long double>(1e-4) * (kS - 1));
        step(x, y) = -4.0L * move * move;
      }
    }
    if (!gaussian) step = testing::log_of(testing::uniform_step(kS, 1e-4));
    Wide before =
        testing::log_of(testing::power(testing::uniform_step(kS, 0.5), 0));  // the identity
    for (int n = 0; n <= 8; ++n) {
      Wide after = testing::log_of(testing::power(testing::uniform_step(kS, 0.5), 0));
      for (int m = n; m < 8; ++m) after = testing::log_multiply(after, step);
      std::vector<long double> weights(kS);
      for (std::size_t s = 0; s < kS; ++s) weights[s] = before(0, s) + after(s, kS - 1);
      const long double total = testing::log_sum_wide(weights);
      std::vector<double> expected(kS);
      for (std::size_t s = 0; s < kS; ++s) expected[s] = static_cast<double>(weights[s] - total);
      const PinnedReference pinned = PinnedReference::marginal(kContext, chain, n);
      // Logarithms near 1e8 cancel to the difference: 1e-8 of them is left.
      EXPECT_TRUE(all_near(log_probabilities(pinned, 0, kS - 1, kS), expected,
                           {1e-12, gaussian ? 2e-7 : 1e-12}))
          << (gaussian ? "gaussian" : "uniform") << ", n " << n;
      before = testing::log_multiply(before, step);
    }
  }
}

TEST(PinnedReference, SameDrawsForAnyThreadsAndSplit) {
  const ReferenceChain chain(ReferenceProcess::gaussian(7, 0.2), kPinnedSteps);
  const PinnedReference pinned = PinnedReference::step(kContext, chain, 1);
  constexpr std::size_t kRows = 3000;
  States from(kRows, 3), end(kRows, 3);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from.data()[i] = static_cast<std::int32_t>(i % 7);
    end.data()[i] = static_cast<std::int32_t>(i / 7 % 7);
  }
  const DrawKey key{9, DrawPurpose::kPinned, 1};
  States expected(kRows, 3);
  pinned.sample({.num_threads = 1}, from, end, key, 77, expected);
  for (const int threads : {2, 5}) {
    States drawn(kRows, 3);
    pinned.sample({.num_threads = threads}, from, end, key, 77, drawn);
    EXPECT_EQ(drawn, expected) << threads << " threads";
  }
  States split(kRows, 3);
  for (std::size_t first = 0; first < kRows; first += 701) {
    const std::size_t rows = std::min<std::size_t>(701, kRows - first);
    pinned.sample(kContext, from.view().slice(first, rows), end.view().slice(first, rows), key,
                  77 + first, split.view().slice(first, rows));
  }
  EXPECT_EQ(split, expected);
}

TEST(PinnedReference, RefusesBadInput) {
  const ReferenceChain chain(ReferenceProcess::uniform(3, 0.1), kPinnedSteps);
  for (const int n : {-1, kPinnedSteps + 1}) {
    EXPECT_EQ(error_of<InvalidArgument>([&] { PinnedReference::marginal(kContext, chain, n); }),
              fmt::format("[reference] step must lie in 0..4, got {}", n));
  }
  for (const int n : {-1, kPinnedSteps}) {
    EXPECT_EQ(error_of<InvalidArgument>([&] { PinnedReference::step(kContext, chain, n); }),
              fmt::format("[reference] step must lie in 0..3, got {}", n));
  }
  const PinnedReference pinned = PinnedReference::step(kContext, chain, 0);
  const States good(2, 2, 1), outside(2, 2, 3), narrow(2, 1, 0), shorter(1, 2, 0);
  States out(2, 2);
  const auto message = [&](const States& from, const States& end) {
    return error_of<InvalidArgument>([&] { pinned.sample(kContext, from, end, {}, 0, out); });
  };
  testing::contains(message(outside, good), "from must hold categories 0..2, got 3");
  testing::contains(message(good, outside), "end must hold categories 0..2, got 3");
  testing::contains(message(narrow, good), "from must have 2 columns");
  testing::contains(message(good, shorter), "the same rows, got 2, 1 and 2");
}

}  // namespace
}  // namespace bridgemark
