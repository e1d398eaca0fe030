#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/random_low_rank.h"
#include "tests/support/tolerance.h"

// Spaces far too large to enumerate, against the sums of one coordinate in long double.
namespace bridgemark {
namespace {

using testing::is_near;
using testing::kContext;
using testing::log_sum_wide;
using testing::Tolerance;
using testing::Wide;

constexpr Tolerance kLargeLog{1e-12, 1e-10};

CpPotential random_potential(std::size_t dim, std::size_t S, std::size_t K, double spread,
                             std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> log_beta(K);
  for (double& value : log_beta) value = spread * testing::unit(generator);
  Array3<double> cores(dim, S, K);
  for (std::size_t i = 0; i < cores.size(); ++i) {
    cores.data()[i] = -spread * testing::unit(generator);
  }
  return {std::move(log_beta), std::move(cores)};
}

// log_q(x, s) of the whole reference as a function, so that no S x S matrix is needed.
template <typename LogQ>
struct CoordinateOracle {
  const CpPotential& potential;
  LogQ log_q;

  std::size_t S() const { return static_cast<std::size_t>(potential.num_categories()); }

  // log (Q r_k^d)[x].
  long double propagated(std::size_t d, std::size_t x, std::size_t k) const {
    std::vector<long double> terms(S());
    for (std::size_t s = 0; s < S(); ++s) terms[s] = log_q(x, s) + potential.log_cores()(d, s, k);
    return log_sum_wide(terms);
  }

  // [K]: log beta_k + sum over d, without dimension `without` (or all for D).
  std::vector<long double> components(const std::int32_t* x, std::size_t without) const {
    std::vector<long double> sums(potential.log_beta().begin(), potential.log_beta().end());
    for (std::size_t d = 0; d < potential.dim(); ++d) {
      for (std::size_t k = 0; d != without && k < sums.size(); ++k) {
        sums[k] += propagated(d, static_cast<std::size_t>(x[d]), k);
      }
    }
    return sums;
  }

  // [S], the conditional marginal of dimension d.
  std::vector<double> marginal(const std::int32_t* x, std::size_t d) const {
    const std::vector<long double> others = components(x, d);
    std::vector<long double> log(S()), terms(others.size());
    for (std::size_t s = 0; s < S(); ++s) {
      for (std::size_t k = 0; k < others.size(); ++k) {
        terms[k] = others[k] + potential.log_cores()(d, s, k);
      }
      log[s] = log_q(static_cast<std::size_t>(x[d]), s) + log_sum_wide(terms);
    }
    const long double total = log_sum_wide(log);
    std::vector<double> out;
    for (const long double value : log) out.push_back(static_cast<double>(value - total));
    return out;
  }
};

template <typename LogQ>
void check_states(const CpBridge& bridge, LogQ log_q, const States& x,
                  const std::vector<std::size_t>& dims) {
  const CoordinateOracle<LogQ> oracle{bridge.potential(), log_q};
  const auto S = static_cast<std::size_t>(bridge.num_categories());
  std::vector<double> log_c(x.rows());
  Array3<double> marginals;
  bridge.log_normalizer(kContext, x, log_c);
  bridge.log_marginals(kContext, x, marginals);
  for (std::size_t b = 0; b < x.rows(); ++b) {
    const auto expected = log_sum_wide(oracle.components(x.row(b), bridge.dim()));
    EXPECT_TRUE(is_near(log_c[b], static_cast<double>(expected), kLargeLog)) << "row " << b;
    for (const std::size_t d : dims) {
      EXPECT_TRUE(
          testing::all_near({marginals.row(b, d), S}, oracle.marginal(x.row(b), d), kLargeLog))
          << "row " << b << ", dimension " << d;
    }
  }
}

TEST(BridgeExtremes, ThousandCategoriesUniform) {
  constexpr std::size_t kS = 1000;
  constexpr double kGamma = 0.01;
  const CpBridge bridge(ReferenceProcess::uniform(kS, kGamma),
                        random_potential(2, kS, 3, 20.0, 61));
  // The closed form of App. B.
  const long double a = std::pow(1.0L - static_cast<long double>(kGamma) * kS / (kS - 1), 128);
  const long double off = std::log((1.0L - a) / kS), on = std::log(a + (1.0L - a) / kS);
  const auto log_q = [&](std::size_t x, std::size_t s) { return x == s ? on : off; };
  check_states(bridge, log_q, States(3, 2, {0, 999, 500, 1, 7, 7}), {0, 1});
}

TEST(BridgeExtremes, ThousandCategoriesGaussian) {
  constexpr std::size_t kS = 1000;
  constexpr double kGamma = 0.02;
  // One elementary step: the matrix itself, from the paper's formula.
  const long double width = static_cast<long double>(kGamma) * (kS - 1);
  const auto log_weight = [&](std::size_t x, std::size_t s) {
    const long double delta = static_cast<long double>(x) - static_cast<long double>(s);
    return -4.0L * delta * delta / (width * width);
  };
  long double normaliser = 1.0L;
  for (std::size_t delta = 1; delta < kS; ++delta)
    normaliser += 2.0L * std::exp(log_weight(delta, 0));
  Wide log(kS, kS);
  for (std::size_t x = 0; x < kS; ++x) {
    long double moved = 0.0L;
    for (std::size_t s = 0; s < kS; ++s) {
      log(x, s) = log_weight(x, s) - std::log(normaliser);
      // Terms below exp(-60) of the sum are beyond its last digit.
      if (s != x && log(x, s) > -60.0L) moved += std::exp(log(x, s));
    }
    log(x, x) = std::log(1.0L - moved);
  }
  const auto log_q = [&](std::size_t x, std::size_t s) { return log(x, s); };
  const CpBridge one_step(ReferenceProcess::gaussian(kS, kGamma, 1),
                          random_potential(1, kS, 2, 20.0, 62));
  check_states(one_step, log_q, States(3, 1, {0, 503, 999}), {0});

  // Two steps: some entries of the square, from the middle to far below the range of double.
  const ReferenceProcess process = ReferenceProcess::gaussian(kS, kGamma, 2);
  const SharedMatrix square = process.log_power(kContext, 2);
  for (const std::size_t x : {0u, 499u}) {
    for (std::size_t y = 0; y < kS; y += 111) {
      std::vector<long double> terms(kS);
      for (std::size_t s = 0; s < kS; ++s) terms[s] = log(x, s) + log(s, y);
      EXPECT_TRUE(is_near(square(x, y), static_cast<double>(log_sum_wide(terms)), kLargeLog))
          << x << " -> " << y;
      EXPECT_TRUE(is_near(square(x, y), square(y, x), kLargeLog));
    }
    double sum = 0.0;
    for (std::size_t y = 0; y < kS; ++y) sum += std::exp(square(x, y));
    EXPECT_TRUE(is_near(sum, 1.0, {1e-12, 0.0}));
  }
}

// A step without a table draws, scores and walks by the factors of its reference.
template <typename LogQ, typename LogStep>
void check_without_table(const CpBridge& bridge, LogQ log_q, LogStep log_step) {
  const auto S = static_cast<std::size_t>(bridge.num_categories());
  ASSERT_FALSE(bridge.process().has_tables());
  const States x(3, 2, {0, 4999, 2500, 1, 77, 77});
  check_states(bridge, log_q, x, {0, 1});

  const CoordinateOracle<LogQ> oracle{bridge.potential(), log_q};
  const States to(3, 2, {0, 1, 2500, 1, 76, 4000});
  std::vector<double> joint(3), log_v(3);
  bridge.log_conditional(kContext, x, to, joint);
  bridge.potential().log_value(kContext, to, log_v);
  for (std::size_t b = 0; b < 3; ++b) {
    long double expected = log_v[b] - log_sum_wide(oracle.components(x.row(b), 2));
    for (std::size_t d = 0; d < 2; ++d) {
      expected += log_q(static_cast<std::size_t>(x(b, d)), static_cast<std::size_t>(to(b, d)));
    }
    EXPECT_TRUE(is_near(joint[b], static_cast<double>(expected), kLargeLog)) << b;
  }

  // The last of two steps: its end is the potential itself.
  const CoordinateOracle<LogStep> last{bridge.potential(), log_step};
  Array3<double> marginals;
  bridge.log_transition_marginals(kContext, 2, 1, x, marginals);
  EXPECT_TRUE(testing::all_near({marginals.row(1, 0), S}, last.marginal(x.row(1), 0), kLargeLog));
  double kl = 0.0;
  bridge.add_transition_kl(kContext, 2, 1, testing::repeat_row(x, 1, 1), bridge, &kl);
  EXPECT_NEAR(kl, 0.0, 1e-10);

  constexpr std::size_t kRows = 20000, kBins = 50;
  const States x0 = testing::repeat_row(x, 2, kRows);
  States x1(kRows, 2);
  bridge.sample(kContext, x0, {5, DrawPurpose::kConditional}, 0, x1);
  for (const std::size_t d : {0u, 1u}) {
    // The state that is stayed in has a bin of its own.
    std::vector<std::size_t> counts(kBins + 1, 0);
    std::vector<double> p(kBins + 1, 0.0);
    const auto bin = [&](std::size_t s) {
      return s == static_cast<std::size_t>(x(2, d)) ? kBins : s * kBins / S;
    };
    for (std::size_t i = 0; i < kRows; ++i) ++counts[bin(static_cast<std::size_t>(x1(i, d)))];
    const std::vector<double> marginal = oracle.marginal(x.row(2), d);
    for (std::size_t s = 0; s < S; ++s) p[bin(s)] += std::exp(marginal[s]);
    EXPECT_TRUE(testing::fits(counts, p)) << "dimension " << d;
  }
}

TEST(BridgeExtremes, CategoriesWithoutTableUniform) {
  constexpr std::size_t kS = 5000;
  constexpr long double kGamma = 0.01L;
  const CpBridge bridge(ReferenceProcess::uniform(kS, 0.01), random_potential(2, kS, 3, 20.0, 65));
  const auto log_power = [](int n) {
    const long double a = std::pow(1.0L - kGamma * kS / (kS - 1), n);
    const long double off = std::log((1.0L - a) / kS), on = std::log(a + (1.0L - a) / kS);
    return [=](std::size_t x, std::size_t s) { return x == s ? on : off; };
  };
  check_without_table(bridge, log_power(128), log_power(64));
}

TEST(BridgeExtremes, CategoriesWithoutTableOfLowRank) {
  static constexpr std::size_t kS = 5000, kRank = 3;
  const LowRankFactors factors = testing::random_low_rank(kS, kRank, 4.0, 66);
  const CpBridge bridge(ReferenceProcess::low_rank(factors.u, factors.v, 0.01),
                        random_potential(2, kS, 3, 20.0, 67));
  // P^n = a^n I + U (the sum over j < n of a^(n-1-j) (1-a) (a I + (1-a) G)^j) V^T, G = V^T U.
  const auto log_power = [&](int n) {
    const long double a = 1.0L - static_cast<long double>(0.01);
    Wide gram(kRank, kRank, 0.0L), weights(kRank, kRank, 0.0L);
    for (std::size_t i = 0; i < kRank; ++i) {
      for (std::size_t j = 0; j < kRank; ++j) {
        for (std::size_t s = 0; s < kS; ++s) {
          gram(i, j) += static_cast<long double>(factors.v(s, i)) * factors.u(s, j);
        }
        gram(i, j) *= 1.0L - a;
        if (i == j) gram(i, j) += a;
      }
    }
    for (int j = 0; j < n; ++j) {
      const Wide term = testing::power(gram, j);
      for (std::size_t i = 0; i < term.size(); ++i) {
        weights.data()[i] += std::pow(a, n - 1 - j) * (1.0L - a) * term.data()[i];
      }
    }
    const long double stays = std::pow(a, n);
    return [&factors, weights, stays](std::size_t x, std::size_t s) {
      long double sum = x == s ? stays : 0.0L;
      for (std::size_t i = 0; i < kRank; ++i) {
        for (std::size_t j = 0; j < kRank; ++j) {
          sum += factors.u(x, i) * weights(i, j) * factors.v(s, j);
        }
      }
      return std::log(sum);
    };
  };
  check_without_table(bridge, log_power(128), log_power(64));
}

TEST(BridgeExtremes, ThousandsOfDimensions) {
  constexpr std::size_t kD = 4096, kS = 4;
  const Matrix<double> step = testing::random_stochastic(kS, 0.99, 63);
  const CpBridge bridge(ReferenceProcess::from_matrix(step), random_potential(kD, kS, 3, 3.0, 64));
  const Wide log = testing::log_of(testing::power(testing::widen(step), 128));
  const auto log_q = [&](std::size_t x, std::size_t s) { return log(x, s); };
  States x(2, kD);
  for (std::size_t i = 0; i < x.size(); ++i)
    x.data()[i] = static_cast<std::int32_t>(i * 7 / 3 % kS);
  check_states(bridge, log_q, x, {0, 1, 2047, 4095});

  // The joint probability is v q_ref / c, near exp(-1e4).
  const CoordinateOracle<decltype(log_q)> oracle{bridge.potential(), log_q};
  const States from = testing::repeat_row(x, 0, 1), to = testing::repeat_row(x, 1, 1);
  double joint = 0.0, log_v = 0.0;
  bridge.log_conditional(kContext, from, to, {&joint, 1});
  bridge.potential().log_value(kContext, to, {&log_v, 1});
  long double expected = log_v - log_sum_wide(oracle.components(from.row(0), kD));
  for (std::size_t d = 0; d < kD; ++d) {
    expected += log(static_cast<std::size_t>(from(0, d)), static_cast<std::size_t>(to(0, d)));
  }
  EXPECT_LT(joint, -700.0);
  EXPECT_TRUE(is_near(joint, static_cast<double>(expected), {1e-12, 1e-8}));

  constexpr std::size_t kRows = 2000;
  const States x0 = testing::repeat_row(x, 0, kRows);
  States x1(kRows, kD);
  bridge.sample(kContext, x0, {5, DrawPurpose::kConditional}, 0, x1);
  for (const std::size_t d : {0u, 1u, 2047u, 4095u}) {
    std::vector<std::size_t> counts(kS, 0);
    for (std::size_t i = 0; i < kRows; ++i) ++counts[static_cast<std::size_t>(x1(i, d))];
    std::vector<double> p = oracle.marginal(x.row(0), d);
    for (double& value : p) value = std::exp(value);
    EXPECT_TRUE(testing::fits(counts, p)) << "dimension " << d;
  }
}

}  // namespace
}  // namespace bridgemark
