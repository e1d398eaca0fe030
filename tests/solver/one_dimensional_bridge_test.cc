#include "bridgemark/solver/baseline/one_dimensional_bridge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "tests/support/random_bridge.h"

namespace bridgemark {
namespace {

struct Case {
  std::string name;
  ReferenceProcess process;
};

std::vector<Case> cases() {
  return {{"uniform", ReferenceProcess::uniform(7, 0.01)},
          {"uniform, S 50, gamma 0.005", ReferenceProcess::uniform(50, 0.005)},
          {"gaussian", ReferenceProcess::gaussian(9, 0.15)},
          {"gaussian, S 20", ReferenceProcess::gaussian(20, 0.08)},
          {"nonsymmetric", ReferenceProcess::from_matrix(testing::random_stochastic(6, 0.98, 11))}};
}

std::vector<double> random_log_pmf(std::size_t S, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> log_p(S);
  for (double& value : log_p) value = 3.0 * testing::unit(generator);
  log_normalize(log_p.data(), S);
  return log_p;
}

double row_sum(const Matrix<double>& log_joint, std::size_t x) {
  double sum = 0.0;
  for (std::size_t y = 0; y < log_joint.cols(); ++y) sum += std::exp(log_joint(x, y));
  return sum;
}

double column_sum(const Matrix<double>& log_joint, std::size_t y) {
  double sum = 0.0;
  for (std::size_t x = 0; x < log_joint.rows(); ++x) sum += std::exp(log_joint(x, y));
  return sum;
}

void expect_marginals(const Matrix<double>& log_joint, const std::vector<double>& log_p0,
                      const std::vector<double>& log_p1, double tolerance) {
  for (std::size_t s = 0; s < log_p0.size(); ++s) {
    EXPECT_NEAR(row_sum(log_joint, s), std::exp(log_p0[s]), tolerance) << "x0 = " << s;
    EXPECT_NEAR(column_sum(log_joint, s), std::exp(log_p1[s]), tolerance) << "x1 = " << s;
  }
}

// log q(x0,x1) - log Q(x0,x1) = f(x0) + g(x1): every 2 x 2 minor of the ratio vanishes.
double largest_minor(const Matrix<double>& log_joint, const Matrix<double>& log_q) {
  double largest = 0.0;
  const auto ratio = [&](std::size_t x, std::size_t y) { return log_joint(x, y) - log_q(x, y); };
  for (std::size_t x = 1; x < log_joint.rows(); ++x) {
    for (std::size_t y = 1; y < log_joint.cols(); ++y) {
      largest = std::max(largest, std::abs(ratio(x, y) - ratio(x, 0) - ratio(0, y) + ratio(0, 0)));
    }
  }
  return largest;
}

// Marginals and form together are the solution: it is the only coupling with both.
TEST(OneDimensionalBridge, ExactSolutionHasMarginalsAndForm) {
  for (const Case& test : cases()) {
    SCOPED_TRACE(test.name);
    const auto S = static_cast<std::size_t>(test.process.num_categories());
    const std::vector<double> log_p0 = random_log_pmf(S, 1), log_p1 = random_log_pmf(S, 2);
    const OneDimensionalBridge bridge = solve_exact({}, test.process, log_p0, log_p1);
    EXPECT_TRUE(bridge.converged);
    EXPECT_LE(bridge.change, 1e-13);
    expect_marginals(bridge.log_joint, log_p0, log_p1, 1e-12);
    const SharedMatrix log_q = test.process.log_power({}, test.process.total_steps());
    EXPECT_LT(largest_minor(bridge.log_joint, log_q), 1e-11);
    // The potential is the x1 factor: what is left depends on x0 alone.
    for (std::size_t x = 0; x < S; ++x) {
      const auto left = [&](std::size_t y) {
        return bridge.log_joint(x, y) - log_q(x, y) - bridge.log_potential[y];
      };
      for (std::size_t y = 1; y < S; ++y) EXPECT_NEAR(left(y), left(0), 1e-11);
    }
  }
}

TEST(OneDimensionalBridge, ZerosOfP1StayZero) {
  const auto process = ReferenceProcess::gaussian(5, 0.3);
  std::vector<double> log_p1{std::log(0.5), kLogZero, std::log(0.25), std::log(0.25), kLogZero};
  const std::vector<double> log_p0 = random_log_pmf(5, 3);
  for (const OneDimensionalBridge& bridge :
       {solve_exact({}, process, log_p0, log_p1),
        solve_d_imf({}, ReferenceChain(process, 4), log_p0, log_p1, 1e-13)}) {
    EXPECT_TRUE(bridge.converged);
    expect_marginals(bridge.log_joint, log_p0, log_p1, 1e-9);
    EXPECT_EQ(bridge.log_potential[1], kLogZero);
    EXPECT_EQ(bridge.log_potential[4], kLogZero);
    EXPECT_EQ(column_sum(bridge.log_joint, 4), 0.0);
  }
}

TEST(OneDimensionalBridge, DImfAgreesWithTheExactSolution) {
  for (const Case& test : cases()) {
    const auto S = static_cast<std::size_t>(test.process.num_categories());
    if (S > 20) continue;  // the others say the same in less time
    const std::vector<double> log_p0 = random_log_pmf(S, 4), log_p1 = random_log_pmf(S, 5);
    const OneDimensionalBridge exact = solve_exact({}, test.process, log_p0, log_p1);
    for (const int num_steps : {2, 4, 16}) {
      SCOPED_TRACE(test.name + ", steps " + std::to_string(num_steps));
      const OneDimensionalBridge fitted =
          solve_d_imf({}, ReferenceChain(test.process, num_steps), log_p0, log_p1, 1e-12, 100000);
      EXPECT_TRUE(fitted.converged);
      EXPECT_LT(total_variation(fitted.log_joint, exact.log_joint), 1e-8);
      for (std::size_t y = 0; y < S; ++y) {
        EXPECT_NEAR(fitted.log_potential[y] - fitted.log_potential[0],
                    exact.log_potential[y] - exact.log_potential[0], 1e-6);
      }
    }
  }
}

TEST(OneDimensionalBridge, IterationsThatRunOutAreReported) {
  const auto process = ReferenceProcess::gaussian(9, 0.15);
  const std::vector<double> log_p0 = random_log_pmf(9, 6), log_p1 = random_log_pmf(9, 7);
  const OneDimensionalBridge sinkhorn = solve_exact({}, process, log_p0, log_p1, 1e-13, 1);
  EXPECT_FALSE(sinkhorn.converged);
  EXPECT_EQ(sinkhorn.iterations, 1);
  EXPECT_GT(sinkhorn.change, 1e-6);
  // What is off is p1 alone.
  for (std::size_t s = 0; s < 9; ++s) {
    EXPECT_NEAR(row_sum(sinkhorn.log_joint, s), std::exp(log_p0[s]), 1e-14);
  }

  const OneDimensionalBridge exact = solve_exact({}, process, log_p0, log_p1);
  double last = 1.0;
  for (const int iterations : {1, 2, 4, 8}) {
    const OneDimensionalBridge imf =
        solve_d_imf({}, ReferenceChain(process, 8), log_p0, log_p1, 1e-13, iterations);
    EXPECT_FALSE(imf.converged);
    EXPECT_EQ(imf.iterations, iterations);
    EXPECT_GT(imf.change, 1e-13);
    // Every iterate keeps both marginals and comes nearer.
    expect_marginals(imf.log_joint, log_p0, log_p1, 1e-12);
    const double error = total_variation(imf.log_joint, exact.log_joint);
    EXPECT_LT(error, last);
    last = error;
  }
}

TEST(OneDimensionalBridge, TotalVariationByHand) {
  const Matrix<double> a(1, 3, {std::log(0.5), std::log(0.5), kLogZero});
  const Matrix<double> b(1, 3, {std::log(0.25), kLogZero, std::log(0.75)});
  EXPECT_DOUBLE_EQ(total_variation(a, b), 0.75);
  EXPECT_EQ(total_variation(a, a), 0.0);
}

TEST(OneDimensionalBridge, RefusesBadInput) {
  const auto process = ReferenceProcess::uniform(3, 0.1, 4);
  const std::vector<double> three(3, -std::log(3.0)), four(4, -std::log(4.0));
  EXPECT_THROW(solve_exact({}, process, three, four), InvalidArgument);
  EXPECT_THROW(solve_exact({}, process, four, three), InvalidArgument);
  EXPECT_THROW(solve_d_imf({}, ReferenceChain(process, 2), three, four), InvalidArgument);
  EXPECT_THROW(solve_d_imf({}, ReferenceChain(process, 1), three, three), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
