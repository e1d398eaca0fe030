#include "bridgemark/backend/plan/bridge_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;
using testing::is_near;
using testing::kContext;
using testing::log_sum_wide;
using testing::Tolerance;

constexpr Tolerance kLog{1e-13, 1e-12};

// A step of any matrix and any cores; `from` is what the recursion makes of `to`.
struct StepCase {
  Matrix<double> log_q;
  Array3<double> log_to, log_from;
  std::vector<double> log_beta;
  backend::BridgeStep step;
  States x;
};

StepCase make_step(std::size_t D, std::size_t S, std::size_t K, double spread, std::size_t rows,
                   std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto draw = [&] { return spread * (2.0 * testing::unit(generator) - 1.0); };
  StepCase item{Matrix<double>(S, S),
                Array3<double>(D, S, K),
                Array3<double>(D, S, K),
                std::vector<double>(K),
                {},
                States(rows, D)};
  for (std::size_t i = 0; i < item.log_q.size(); ++i) item.log_q.data()[i] = draw();
  for (std::size_t i = 0; i < item.log_to.size(); ++i) item.log_to.data()[i] = draw();
  for (double& value : item.log_beta) value = draw();
  for (std::size_t i = 0; i < item.x.size(); ++i) {
    item.x.data()[i] = static_cast<std::int32_t>(generator() % S);
  }
  backend::of(kContext).propagate_cores(kContext, item.log_q, item.log_to, item.log_from);
  item.step = backend::make_bridge_step({}, item.log_beta, item.log_from, item.log_q, item.log_to);
  return item;
}

TEST(LogMixture, AgreesWithPlainSums) {
  for (std::size_t size = 1; size <= 17; ++size) {
    for (const double spread : {2.0, 1e4}) {
      const StepCase item = make_step(size, 3, 1 + size % 7, spread, 5, size);
      std::vector<double> out(5), expected;
      backend::of(kContext).log_mixture(kContext, item.log_beta, item.log_to, item.x, out);
      for (std::size_t b = 0; b < 5; ++b) {
        std::vector<long double> terms(item.log_beta.begin(), item.log_beta.end());
        for (std::size_t d = 0; d < size; ++d) {
          for (std::size_t k = 0; k < terms.size(); ++k) {
            terms[k] += item.log_to(d, static_cast<std::size_t>(item.x(b, d)), k);
          }
        }
        expected.push_back(static_cast<double>(log_sum_wide(terms)));
      }
      EXPECT_TRUE(all_near(out, expected, kLog)) << "size " << size << ", spread " << spread;
    }
  }
  Array3<double> zeros(1, 2, 2, kLogZero);
  double value = 0.0;
  backend::of(kContext).log_mixture(kContext, std::vector<double>{0.0, 1.0}, zeros, States(1, 1, 0),
                                    {&value, 1});
  EXPECT_EQ(value, kLogZero);
}

// [D * S] of one row by the definition: Q[x^d, s] sum_k beta_k to[d,s,k] prod_{j != d} from[j].
std::vector<double> plain_marginals(const StepCase& item, std::size_t b) {
  const std::size_t D = item.step.dim, S = item.step.num_categories, K = item.step.num_components;
  std::vector<double> out;
  for (std::size_t d = 0; d < D; ++d) {
    std::vector<long double> log(S);
    for (std::size_t s = 0; s < S; ++s) {
      std::vector<long double> terms(item.log_beta.begin(), item.log_beta.end());
      for (std::size_t k = 0; k < K; ++k) {
        for (std::size_t j = 0; j < D; ++j) {
          const auto x = static_cast<std::size_t>(item.x(b, j));
          terms[k] += j == d ? item.log_to(d, s, k) : item.log_from(j, x, k);
        }
      }
      log[s] = log_sum_wide(terms) + item.log_q(static_cast<std::size_t>(item.x(b, d)), s);
    }
    const long double total = log_sum_wide(log);
    for (const long double value : log) out.push_back(static_cast<double>(value - total));
  }
  return out;
}

TEST(BridgeStepMarginals, AgreeWithPlainSums) {
  struct Extents {
    std::size_t D, S, K;
  };
  std::vector<Extents> sizes;
  for (std::size_t extent = 1; extent <= 17; ++extent) {
    sizes.insert(sizes.end(), {{extent, 4, 3}, {2, extent, 3}, {2, 4, extent}});
  }
  for (const auto& [D, S, K] : sizes) {
    for (const double spread : {2.0, 1e4}) {
      const StepCase item = make_step(D, S, K, spread, 3, 100 * D + 10 * S + K);
      Array3<double> out(3, D, S);
      backend::of(kContext).bridge_step_marginals(kContext, item.step, item.x, out.as_matrix());
      for (std::size_t b = 0; b < 3; ++b) {
        // Sums of D logarithms near 1e4: their rounding stays in the difference.
        EXPECT_TRUE(all_near({out.row(b, 0), D * S}, plain_marginals(item, b),
                             {1e-12, spread > 10.0 ? 1e-9 : 1e-12}))
            << D << " x " << S << " x " << K << ", spread " << spread;
      }
    }
  }
}

// With zeros in q, with one reference and two, and where nothing of it can be seen linearly.
TEST(BridgeStepKl, IsThatOfTheMarginals) {
  constexpr std::size_t D = 4, S = 9, K = 3, kRows = 70;
  for (const double spread : {2.0, 300.0, 1e4}) {
    for (const int kind : {0, 1, 2}) {
      const bool zeros = kind == 2;
      const StepCase p = make_step(D, S, K, spread, kRows, 7);
      StepCase q = make_step(D, S, K, spread, kRows, 8);
      if (kind > 0) q.log_q = p.log_q;
      for (std::size_t k = 0; zeros && k < K; ++k) q.log_to(1, 2, k) = kLogZero;
      q.step = backend::make_bridge_step(kContext, q.log_beta, q.log_from, q.log_q, q.log_to);
      Array3<double> of_p(kRows, D, S), of_q(kRows, D, S);
      backend::of(kContext).bridge_step_marginals(kContext, p.step, p.x, of_p.as_matrix());
      backend::of(kContext).bridge_step_marginals(kContext, q.step, p.x, of_q.as_matrix());
      std::vector<double> expected(kRows, 1.0), kl(kRows, 1.0), itself(kRows, 0.0);
      for (std::size_t b = 0; b < kRows; ++b) {
        for (std::size_t d = 0; d < D; ++d) {
          expected[b] += log_kl(of_p.row(b, d), of_q.row(b, d), S);
        }
      }
      backend::of(kContext).add_bridge_step_kl(kContext, p.step, q.step, p.x, kl.data());
      EXPECT_TRUE(all_near(kl, expected, {1e-12, 1e-12})) << spread << ", kind " << kind;
      EXPECT_EQ(std::isinf(kl[0]), zeros);
      backend::of(kContext).add_bridge_step_kl(kContext, p.step, p.step, p.x, itself.data());
      EXPECT_EQ(itself, std::vector<double>(kRows, 0.0));
    }
  }
}

TEST(BridgeStepMarginals, SameBitsForAnyNumberOfThreads) {
  const StepCase item = make_step(5, 9, 4, 3.0, 1000, 5);
  Array3<double> expected(1000, 5, 9), out(1000, 5, 9);
  std::vector<double> expected_mixture(1000), mixture(1000);
  backend::of({.num_threads = 1})
      .bridge_step_marginals({.num_threads = 1}, item.step, item.x, expected.as_matrix());
  backend::of({.num_threads = 1})
      .log_mixture({.num_threads = 1}, item.log_beta, item.log_to, item.x, expected_mixture);
  for (const int threads : {2, 5}) {
    backend::of({.num_threads = threads})
        .bridge_step_marginals({.num_threads = threads}, item.step, item.x, out.as_matrix());
    backend::of({.num_threads = threads})
        .log_mixture({.num_threads = threads}, item.log_beta, item.log_to, item.x, mixture);
    EXPECT_EQ(out, expected) << threads;
    EXPECT_EQ(mixture, expected_mixture) << threads;
  }
}

// Factors that only meet below the range of double: the product in the linear domain is zero
// everywhere, the exact path is not.
TEST(SampleProductRows, DrawsWhereTheProductUnderflows) {
  constexpr std::size_t kRows = 20000;
  const Matrix<double> left(1, 4, {0.0, -800.0, -1200.0, -4000.0});
  const Matrix<double> right(1, 4, {-4000.0, -400.7, 0.0, 0.0});
  const auto a = backend::scale_rows(left), b = backend::scale_rows(right);
  const States zero(kRows, 1, 0);
  States out(kRows, 1);
  backend::of(kContext).sample_product_rows(kContext, a, b, zero, zero, {1, DrawPurpose::kPinned},
                                            0, out);
  std::vector<std::size_t> counts(4, 0);
  for (std::size_t i = 0; i < kRows; ++i) ++counts[static_cast<std::size_t>(out(i, 0))];
  const double share = std::exp(-0.7) / (1.0 + std::exp(-0.7));  // of -1200.7 beside -1200
  EXPECT_TRUE(testing::fits(counts, std::vector<double>{0.0, share, 1.0 - share, 0.0}));
}

TEST(ScaledRows, KeepLogarithmsAndScaleToOne) {
  const Matrix<double> log(2, 3, {-1e5, -1e5 - 1.0, kLogZero, kLogZero, kLogZero, kLogZero});
  const backend::ScaledRows rows = backend::scale_rows(log);
  EXPECT_EQ(rows.log, log);
  EXPECT_EQ(rows.linear(0, 0), 1.0);
  EXPECT_TRUE(is_near(rows.linear(0, 1), std::exp(-1.0), {1e-15, 0.0}));
  EXPECT_EQ(rows.linear(0, 2), 0.0);
  for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(rows.linear(1, j), 0.0);
}

}  // namespace
}  // namespace bridgemark
