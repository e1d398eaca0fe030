#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/math/log_domain.h"
#include "tests/support/context.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/random_bridge.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;
using testing::kContext;
using testing::log_sum_wide;
using testing::Tolerance;

constexpr Tolerance kLog{1e-13, 1e-13};

// Twice the widest vector (8 doubles) and one: every remainder of every target.
constexpr std::size_t kMaxExtent = 17;

// How the logarithms of a factor lie.
enum class Range { kNear, kZeros, kFar };  // +-3; a third -inf; +-1e4, where products underflow

double draw(std::mt19937_64& generator, Range range) {
  const double value = 2.0 * testing::unit(generator) - 1.0;
  if (range == Range::kFar) return 1e4 * value;
  if (range == Range::kZeros && testing::unit(generator) < 0.35) return kLogZero;
  return 3.0 * value;
}

Matrix<double> random_matrix(std::size_t rows, std::size_t cols, Range range, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Matrix<double> matrix(rows, cols);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix.data()[i] = draw(generator, range);
  return matrix;
}

Array3<double> random_cores(std::size_t D, std::size_t S, std::size_t K, Range range,
                            std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Array3<double> cores(D, S, K);
  for (std::size_t i = 0; i < cores.size(); ++i) cores.data()[i] = draw(generator, range);
  return cores;
}

std::vector<double> plain_log_matmul(const Matrix<double>& a, const Matrix<double>& b) {
  std::vector<double> out;
  std::vector<long double> terms(a.cols());
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t j = 0; j < b.cols(); ++j) {
      for (std::size_t k = 0; k < a.cols(); ++k) {
        terms[k] = static_cast<long double>(a(i, k)) + b(k, j);
      }
      out.push_back(static_cast<double>(log_sum_wide(terms)));
    }
  }
  return out;
}

void check_log_matmul(std::size_t m, std::size_t k, std::size_t n) {
  for (const Range range : {Range::kNear, Range::kZeros, Range::kFar}) {
    const Matrix<double> a = random_matrix(m, k, range, 100 * m + k);
    const Matrix<double> b = random_matrix(k, n, range, 100 * k + n + 7);
    Matrix<double> out(m, n, std::nan(""));
    backend::of(kContext).log_matmul(kContext, a, b, out.view());
    EXPECT_TRUE(all_near({out.data(), out.size()}, plain_log_matmul(a, b), kLog))
        << m << " x " << k << " x " << n << ", range " << static_cast<int>(range);
  }
}

// All of what the vector instructions touch; run once for each set of them.
void check_vector_kernels() {
  for (std::size_t extent = 1; extent <= kMaxExtent; ++extent) {
    check_log_matmul(extent, 5, 7);
    check_log_matmul(5, extent, 7);
    check_log_matmul(5, 7, extent);
  }
  check_log_matmul(3, 40, 131);  // more than one panel of columns
}

TEST(LogMatmul, AgreesWithPlainSums) { check_vector_kernels(); }

TEST(LogMatmul, EveryInstructionSetAgrees) {
  testing::with_each_instruction_set(check_vector_kernels);
}

TEST(LogMatmul, RowsAndColumnsOfZeros) {
  Matrix<double> a(3, 2, 0.0), b(2, 3, 0.0), out(3, 3, 1.0);
  a(1, 0) = a(1, 1) = kLogZero;
  b(0, 2) = b(1, 2) = kLogZero;
  backend::of(kContext).log_matmul(kContext, a, b, out.view());
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      if (i == 1 || j == 2) {
        EXPECT_EQ(out(i, j), kLogZero);
      } else {
        EXPECT_TRUE(testing::is_near(out(i, j), std::log(2.0), kLog));
      }
    }
  }
  // Finite factors whose zeros never meet a finite partner.
  Matrix<double> left(1, 2, {0.0, kLogZero}), right(2, 1, {kLogZero, 0.0}), none(1, 1, 0.0);
  backend::of(kContext).log_matmul(kContext, left, right, none.view());
  EXPECT_EQ(none(0, 0), kLogZero);
}

TEST(LogMatmul, SameBitsForAnyNumberOfThreads) {
  for (const Range range : {Range::kNear, Range::kFar}) {
    const Matrix<double> a = random_matrix(60, 70, range, 1), b = random_matrix(70, 500, range, 2);
    const Matrix<double> q = random_matrix(20, 20, range, 3);
    const Array3<double> cores = random_cores(100, 20, 3, range, 4);
    Matrix<double> expected(60, 500), out(60, 500);
    Array3<double> expected_u(100, 20, 3), u(100, 20, 3);
    backend::of({.num_threads = 1}).log_matmul({.num_threads = 1}, a, b, expected.view());
    backend::of({.num_threads = 1}).propagate_cores({.num_threads = 1}, q, cores, expected_u);
    for (const int threads : {2, 5}) {
      backend::of({.num_threads = threads}).log_matmul({.num_threads = threads}, a, b, out.view());
      backend::of({.num_threads = threads}).propagate_cores({.num_threads = threads}, q, cores, u);
      EXPECT_EQ(out, expected) << threads;
      EXPECT_EQ(u, expected_u) << threads;
    }
  }
}

// out[d,s,k] by the definition; q is not symmetric, so a transposed one would show.
std::vector<double> plain_propagate(const Matrix<double>& q, const Array3<double>& cores) {
  std::vector<double> out;
  const std::size_t D = cores.extent(0), S = cores.extent(1), K = cores.extent(2);
  std::vector<long double> terms(S);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      for (std::size_t k = 0; k < K; ++k) {
        for (std::size_t t = 0; t < S; ++t) {
          terms[t] = static_cast<long double>(q(s, t)) + cores(d, t, k);
        }
        out.push_back(static_cast<double>(log_sum_wide(terms)));
      }
    }
  }
  return out;
}

TEST(PropagateCores, AgreesWithPlainSums) {
  struct Extents {
    std::size_t D, S, K;
  };
  std::vector<Extents> sizes{{3, 4, 130}, {140, 2, 1}, {50, 3, 4}};  // around the panel of 128
  for (std::size_t extent = 1; extent <= kMaxExtent; ++extent) {
    sizes.insert(sizes.end(), {{extent, 4, 3}, {2, extent, 3}, {2, 4, extent}});
  }
  for (const auto& [D, S, K] : sizes) {
    for (const Range range : {Range::kNear, Range::kZeros, Range::kFar}) {
      const Matrix<double> q = random_matrix(S, S, range, 31 * S + D);
      const Array3<double> cores = random_cores(D, S, K, range, 17 * D + K);
      Array3<double> out(D, S, K, std::nan(""));
      backend::of(kContext).propagate_cores(kContext, q, cores, out);
      EXPECT_TRUE(all_near({out.data(), out.size()}, plain_propagate(q, cores), kLog))
          << D << " x " << S << " x " << K << ", range " << static_cast<int>(range);
    }
  }
}

TEST(PropagateCores, RankOneIsTheSameMatrix) {
  for (std::size_t S = 2; S <= kMaxExtent; ++S) {
    for (const double log_identity : {-0.3, -900.0, kLogZero}) {
      const double log_uniform = -2.0 - static_cast<double>(S);
      Matrix<double> q(S, S, log_uniform);
      for (std::size_t s = 0; s < S; ++s) q(s, s) = log_add(log_identity, log_uniform);
      for (const Range range : {Range::kNear, Range::kZeros, Range::kFar}) {
        const Array3<double> cores = random_cores(3, S, 1 + S % 5, range, S);
        Array3<double> out(3, S, 1 + S % 5);
        backend::of(kContext).propagate_cores_rank_one(kContext, log_identity, log_uniform, cores,
                                                       out);
        EXPECT_TRUE(all_near({out.data(), out.size()}, plain_propagate(q, cores), {1e-13, 1e-12}))
            << "S " << S << ", identity " << log_identity;
      }
    }
  }
}

}  // namespace
}  // namespace bridgemark
