#include "bridgemark/process/reference_process.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/io/io_testing.h"
#include "tests/support/context.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/random_bridge.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;
using testing::error_of;
using testing::is_near;
using testing::kContext;
using testing::Tolerance;
using testing::Wide;

constexpr Tolerance kLogTransition{1e-12, 1e-12};

std::vector<double> narrow(const Wide& log) {
  std::vector<double> values;
  for (std::size_t i = 0; i < log.size(); ++i) {
    values.push_back(static_cast<double>(log.data()[i]));
  }
  return values;
}

std::span<const double> entries(const Matrix<double>& matrix) {
  return {matrix.data(), matrix.size()};
}

// log_power(n) against n plain products of the elementary matrix.
void expect_powers(const ReferenceProcess& process, const Wide& step, const std::string& name) {
  for (const int n : {0, 1, 2, 3, 7, 64, 127, 128}) {
    EXPECT_TRUE(all_near(entries(process.log_power(kContext, n).matrix()),
                         narrow(testing::log_of(testing::power(step, n))), kLogTransition))
        << name << ", n " << n;
  }
}

TEST(ReferenceProcess, UniformPowersAreMatrixPowers) {
  for (const int S : {2, 3, 16}) {
    // From 1 - 1/S on the identity part of an odd power is negative.
    for (const double gamma : {1e-4, 0.005, 0.3, 0.5, 0.9, 0.999, 1.0 - 1e-13, 1.0 - 0x1p-53}) {
      expect_powers(ReferenceProcess::uniform(S, gamma), testing::uniform_step(S, gamma),
                    fmt::format("S {}, gamma {}", S, gamma));
    }
  }
}

TEST(ReferenceProcess, RankOnePowerIsTheWholePower) {
  for (const int S : {2, 3, 50}) {
    for (const double gamma : {1e-4, 0.01, 0.5, 0.9, 0.999}) {
      const ReferenceProcess process = ReferenceProcess::uniform(S, gamma);
      for (const int n : {1, 2, 5, 128}) {
        const double identity = std::pow(1.0 - gamma * S / (S - 1.0), n);
        const auto power = process.rank_one_power(n);
        ASSERT_EQ(power.has_value(), identity >= 0.0) << S << " " << gamma << " " << n;
        if (!power) continue;
        const SharedMatrix log = process.log_power(kContext, n);
        EXPECT_TRUE(is_near(power->log_uniform, log(0, 1), kLogTransition));
        EXPECT_TRUE(is_near(std::log(std::exp(power->log_identity) + std::exp(power->log_uniform)),
                            log(1, 1), kLogTransition));
      }
    }
  }
  EXPECT_FALSE(ReferenceProcess::gaussian(4, 0.1).rank_one_power(1).has_value());
  EXPECT_FALSE(ReferenceProcess::uniform(4, 0.1).rank_one_power(0).has_value()) << "the identity";
}

TEST(ReferenceProcess, GaussianPowersAreMatrixPowers) {
  for (const int S : {2, 3, 10}) {
    for (const double gamma : {0.02, 0.05, 0.3, 0.9}) {
      expect_powers(ReferenceProcess::gaussian(S, gamma), testing::gaussian_step(S, gamma),
                    fmt::format("S {}, gamma {}", S, gamma));
    }
  }
}

TEST(ReferenceProcess, GaussianIsSymmetricWithRowsThatSumToOne) {
  const ReferenceProcess process = ReferenceProcess::gaussian(50, 0.05);
  for (const int n : {1, 2, 16, 128}) {
    const SharedMatrix log = process.log_power(kContext, n);
    for (std::size_t x = 0; x < 50; ++x) {
      double sum = 0.0;
      for (std::size_t y = 0; y < 50; ++y) {
        sum += std::exp(log(x, y));
        EXPECT_TRUE(is_near(log(x, y), log(y, x), kLogTransition));
      }
      EXPECT_TRUE(is_near(sum, 1.0, kLogTransition)) << "n " << n << ", row " << x;
    }
  }
}

// exp(-4 / gamma^2) is far below any floating-point number: only logarithms are left.
TEST(ReferenceProcess, TinyGammaStaysFiniteInTheLogDomain) {
  constexpr double kGamma = 1e-4;
  constexpr std::size_t kS = 5;
  Wide log(kS, kS);
  for (std::size_t x = 0; x < kS; ++x) {
    for (std::size_t y = 0; y < kS; ++y) {
      const long double move = (static_cast<long double>(x) - static_cast<long double>(y)) /
                               (static_cast<long double>(kGamma) * (kS - 1));
      log(x, y) = -4.0L * move * move;  // the normaliser and the diagonal are 1 to all digits
    }
  }
  const ReferenceProcess process = ReferenceProcess::gaussian(kS, kGamma);
  for (int n = 1; n <= 128; n *= 2) {
    const SharedMatrix actual = process.log_power(kContext, n);
    EXPECT_TRUE(all_near(entries(actual), narrow(log), kLogTransition)) << "n " << n;
    EXPECT_LT(actual(0, kS - 1), -1e7);
    log = testing::log_multiply(log, log);
  }
}

TEST(ReferenceProcess, MatrixKeepsItsOrientation) {
  const Matrix<double> step = testing::random_stochastic(6, 0.9, 11);
  const ReferenceProcess process = ReferenceProcess::from_matrix(step);
  const SharedMatrix log = process.log_power(kContext, 1);
  for (std::size_t x = 0; x < 6; ++x) {
    for (std::size_t y = 0; y < 6; ++y) {
      EXPECT_TRUE(is_near(log(x, y), std::log(step(x, y)), kLogTransition))
          << "row is the state before";
    }
  }
  expect_powers(process, testing::widen(step), "not symmetric");
  EXPECT_EQ(process.kind(), ReferenceKind::kMatrix);
  EXPECT_TRUE(std::isnan(process.gamma()));
}

TEST(ReferenceProcess, MatrixRowsAreNormalisedToFullPrecision) {
  Matrix<double> step(2, 2, 0.5);
  step(0, 0) += 5e-7;
  const ReferenceProcess process = ReferenceProcess::from_matrix(step);
  const SharedMatrix log = process.log_power(kContext, 128);
  EXPECT_TRUE(is_near(std::exp(log(0, 0)) + std::exp(log(0, 1)), 1.0, kLogTransition));
}

TEST(ReferenceChain, GroupsElementarySteps) {
  const Matrix<double> step = testing::random_stochastic(3, 0.97, 12);
  const std::vector<ReferenceProcess> processes = {ReferenceProcess::uniform(3, 0.02),
                                                   ReferenceProcess::gaussian(3, 0.4),
                                                   ReferenceProcess::from_matrix(step)};
  const std::vector<Wide> steps = {testing::uniform_step(3, 0.02), testing::gaussian_step(3, 0.4),
                                   testing::widen(step)};
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (int num_steps = 1; num_steps <= 128; num_steps *= 2) {
      const ReferenceChain chain(processes[i], num_steps);
      const Wide grouped = testing::power(steps[i], 128 / num_steps);
      EXPECT_EQ(chain.num_steps(), num_steps);
      EXPECT_EQ(chain.elementary_steps(num_steps), 128);
      EXPECT_TRUE(all_near(entries(chain.log_onestep(kContext).matrix()),
                           narrow(testing::log_of(grouped)), kLogTransition));
      Wide cumulative = testing::power(grouped, 0);
      for (int n = 0; n <= num_steps; ++n) {
        ASSERT_TRUE(all_near(entries(chain.log_cumulative(kContext, n).matrix()),
                             narrow(testing::log_of(cumulative)), kLogTransition))
            << "kind " << i << ", num_steps " << num_steps << ", n " << n;
        cumulative = testing::multiply(cumulative, grouped);
      }
    }
  }
}

// Detailed balance: pi(x) P(x,y) = pi(y) R(y,x) under the stationary law pi. Two equal rows are
// equal in every power, long before the power has reached its limit.
TEST(ReferenceProcess, TimeReversalKeepsTheStationaryFlow) {
  for (const bool equal_rows : {false, true}) {
    Matrix<double> step = testing::random_stochastic(4, equal_rows ? 0.0 : 0.95, 13);
    for (std::size_t y = 0; equal_rows && y < 4; ++y) step(3, y) = step(0, y);
    const Wide stationary = testing::power(testing::widen(step), 1500);
    const ReferenceProcess reversed = ReferenceProcess::from_matrix(step).time_reversed();
    const SharedMatrix log = reversed.log_power(kContext, 1);
    EXPECT_EQ(reversed.total_steps(), kDefaultTotalSteps);
    for (std::size_t x = 0; x < 4; ++x) {
      for (std::size_t y = 0; y < 4; ++y) {
        const long double flow = stationary(0, x) * step(x, y) / stationary(0, y);
        EXPECT_TRUE(is_near(log(y, x), static_cast<double>(std::log(flow)), {1e-11, 1e-11}))
            << "equal rows: " << equal_rows;
      }
    }
  }
  const ReferenceProcess uniform = ReferenceProcess::uniform(3, 0.1);
  EXPECT_EQ(uniform.time_reversed().log_power(kContext, 5), uniform.log_power(kContext, 5));
}

TEST(ReferenceProcess, CopiesAndThreadsShareThePowers) {
  const ReferenceProcess process = ReferenceProcess::gaussian(20, 0.1);
  const ReferenceProcess copy = process;
  std::vector<const Matrix<double>*> found(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&, i] {
      const ReferenceProcess& mine = i % 2 == 0 ? process : copy;
      found[i] = &mine.log_power(Context{.num_threads = 1}, 100).matrix();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto* matrix : found) EXPECT_EQ(matrix, found[0]);
}

// The larger gamma, the more alike all moves; the diagonal keeps its half.
TEST(ReferenceProcess, AnInterruptedPowerIsMadeAnew) {
  const ReferenceProcess process = ReferenceProcess::gaussian(300, 0.02),
                         other = ReferenceProcess::gaussian(300, 0.02);
  for (const int interrupted_at : {1, 4, 9}) {
    std::atomic<int> asked = 0;
    Context context;
    context.interrupt = [&] { return ++asked >= interrupted_at; };
    EXPECT_THROW(process.log_power(context, 100), Interrupted);
  }
  EXPECT_EQ(process.log_power(kContext, 100), other.log_power(kContext, 100));
}

// Nobody waits for a power that is being made: whoever asks the context may hold what they need.
TEST(ReferenceProcess, OthersReadPowersWhileOneIsMade) {
  const ReferenceProcess process = ReferenceProcess::gaussian(300, 0.02);
  Context context{.num_threads = 1};
  std::future<double> movement;
  context.interrupt = [&] {
    if (movement.valid()) return false;
    movement = std::async(std::launch::async, [&] { return process.expected_movement(); });
    EXPECT_EQ(movement.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    return false;
  };
  process.log_power(context, 100);
  EXPECT_GT(movement.get(), 0.0);
}

TEST(ReferenceProcess, GaussianTakesAnyPositiveGamma) {
  for (const double gamma : {1.0, 1.5, 100.0, 1e200}) {
    expect_powers(ReferenceProcess::gaussian(5, gamma), testing::gaussian_step(5, gamma),
                  fmt::format("gamma {}", gamma));
  }
  const ReferenceProcess process = ReferenceProcess::gaussian(5, 1e200);
  const SharedMatrix flat = process.log_power(kContext, 1);
  EXPECT_TRUE(is_near(flat(0, 4), std::log(1.0 / 9.0), kLogTransition));
  EXPECT_TRUE(is_near(flat(2, 2), std::log(5.0 / 9.0), kLogTransition));
}

TEST(ReferenceProcess, ExpectedMovementIsInCategories) {
  // gamma (S + 1) / 3 a step for a uniform reference.
  EXPECT_NEAR(ReferenceProcess::uniform(50, 0.01).expected_movement(), 21.76, 1e-9);
  EXPECT_NEAR(ReferenceProcess::gaussian(50, 0.02).expected_movement(), 3.7790, 1e-4);
  EXPECT_NEAR(ReferenceProcess::gaussian(17, 0.02).expected_movement(), 2.614e-15, 1e-18);
  const Matrix<double> up(2, 2, {0.25, 0.75, 0.5, 0.5});
  EXPECT_NEAR(ReferenceProcess::from_matrix(up, 4).expected_movement(), 2.5, 1e-12);
}

TEST(ReferenceProcess, WarnsWhereItHardlyMoves) {
  const auto still = movement_warning(ReferenceProcess::gaussian(17, 0.02));
  ASSERT_TRUE(still.has_value());
  EXPECT_EQ(*still,
            "[reference] gamma 0.02 at S = 17 hardly moves: 2.6e-15 categories in 128 steps (at "
            "least 0.1 are needed), so x1 is x0 and every score is perfect; gamma 0.071 fits so "
            "many categories");
  EXPECT_FALSE(movement_warning(ReferenceProcess::gaussian(17, 0.071)).has_value());
  EXPECT_FALSE(movement_warning(ReferenceProcess::gaussian(50, 0.02)).has_value());
  EXPECT_FALSE(movement_warning(ReferenceProcess::uniform(50, 0.005)).has_value());
  EXPECT_TRUE(movement_warning(ReferenceProcess::uniform(50, 0.00004)).has_value());
  const Matrix<double> kept(2, 2, {1.0 - 1e-7, 1e-7, 1e-7, 1.0 - 1e-7});
  testing::contains(movement_warning(ReferenceProcess::from_matrix(kept)).value_or(""),
                    "[reference] a matrix at S = 2 hardly moves");
}

TEST(ReferenceProcess, RefusesBadInput) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto message = [](auto&& body) { return error_of<InvalidArgument>(body); };
  for (const double gamma : {0.0, 1.0, -0.1, 1.5, nan}) {
    EXPECT_EQ(
        message([&] { ReferenceProcess::uniform(5, gamma); }),
        fmt::format("[reference] gamma of a uniform reference must lie in (0, 1), got {}", gamma));
  }
  for (const double gamma : {0.0, -0.1, nan, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(message([&] { ReferenceProcess::gaussian(5, gamma); }),
              fmt::format("[reference] gamma of a gaussian reference must be positive and finite, "
                          "got {}",
                          gamma));
  }
  for (const int S : {-3, 0, 1, kMaxCategories + 1}) {
    EXPECT_EQ(message([&] { ReferenceProcess::uniform(S, 0.1); }),
              fmt::format("[reference] num_categories of a uniform reference must lie in 2..65536, "
                          "got {}",
                          S));
  }
  for (const int steps : {-1, 0, kMaxTotalSteps + 1}) {
    EXPECT_EQ(message([&] { ReferenceProcess::gaussian(5, 0.1, steps); }),
              fmt::format("[reference] total_steps must lie in 1..1048576, got {}", steps));
  }

  EXPECT_EQ(message([] { ReferenceProcess::from_matrix(Matrix<double>(2, 3, 0.5)); }),
            "[reference] matrix must be square, got shape [2, 3]");
  EXPECT_EQ(message([] { ReferenceProcess::from_matrix(Matrix<double>(2, 2, 0.55)); }),
            "[reference] each row of the matrix must sum to 1, got 1.1 for row 0");
  for (const double bad : {0.0, -0.5, 1.5, nan}) {
    Matrix<double> matrix(2, 2, 0.5);
    matrix(1, 0) = bad;
    EXPECT_EQ(message([&] { ReferenceProcess::from_matrix(matrix); }),
              fmt::format("[reference] matrix must be strictly positive and at most 1, got {} at "
                          "[1, 0]",
                          bad));
  }
  EXPECT_EQ(message([] { ReferenceProcess::from_matrix(Matrix<double>()); }),
            "[reference] num_categories of a matrix reference must lie in 2..16384, got 0");
  EXPECT_EQ(message([] { ReferenceProcess::gaussian(16385, 0.1); }),
            "[reference] num_categories of a gaussian reference must lie in 2..16384, got 16385");
}

TEST(ReferenceChain, RefusesBadInput) {
  const ReferenceProcess process = ReferenceProcess::uniform(4, 0.1);
  for (const int num_steps : {-1, 0, 3, 5, 127, 256}) {
    EXPECT_EQ(
        error_of<InvalidArgument>([&] { ReferenceChain(process, num_steps); }),
        fmt::format("[reference] num_steps must be a positive divisor of 128, got {}", num_steps));
  }
  const ReferenceChain chain(process, 4);
  for (const int n : {-1, 5}) {
    EXPECT_EQ(error_of<InvalidArgument>([&] { chain.log_cumulative(kContext, n); }),
              fmt::format("[reference] step must lie in 0..4, got {}", n));
  }
  for (const int n : {-1, 129}) {
    EXPECT_EQ(error_of<InvalidArgument>([&] { process.log_power(kContext, n); }),
              fmt::format("[reference] power must lie in 0..128, got {}", n));
  }
}

// A power's bits are a function of the process and n, not of what was asked before.
TEST(ReferenceProcess, PowersDoNotDependOnHistory) {
  const ReferenceProcess fresh = ReferenceProcess::gaussian(20, 0.1);
  const ReferenceProcess used = ReferenceProcess::gaussian(20, 0.1);
  for (const int n : {3, 5, 7, 96, 128, 11}) used.log_power(Context{}, n);
  for (const int n : {88, 40, 24, 127}) {
    EXPECT_EQ(used.log_power(Context{}, n), fresh.log_power(Context{}, n)) << n;
  }
}

// Who asks for one power after the other, once each, gets those that chains get, and few are kept.
TEST(ReferenceProcess, PowersThatAreAskedForOnceAreNotKept) {
  const ReferenceProcess once = ReferenceProcess::gaussian(7, 0.3),
                         kept = ReferenceProcess::gaussian(7, 0.3);
  for (int n = 0; n <= 128; ++n) {
    const int from_end = 128 - n;
    EXPECT_EQ(once.log_power_once(kContext, from_end), kept.log_power(kContext, from_end)) << n;
  }
  EXPECT_LE(once.num_kept_powers(), 8u);
  EXPECT_EQ(kept.num_kept_powers(), 129u);
  EXPECT_EQ(error_of<InvalidArgument>([&] { once.log_power_once(kContext, 129); }),
            "[reference] power must lie in 0..128, got 129");
}

}  // namespace
}  // namespace bridgemark
