#include "bridgemark/submission/rank_shift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/support/random_bridge.h"

namespace bridgemark {
namespace {

// The share of all choices of a.size() values among both sets whose ranks shift as far.
double enumerated_chance(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all(a);
  all.insert(all.end(), b.begin(), b.end());
  std::vector<double> ranks;
  for (const double value : all) {
    const auto below = std::ranges::count_if(all, [&](double other) { return other < value; });
    const auto equal = std::ranges::count(all, value);
    ranks.push_back(static_cast<double>(below) + 0.5 * static_cast<double>(equal - 1));
  }
  const double middle = 0.5 * static_cast<double>(all.size() - 1) * static_cast<double>(a.size());
  const double found = std::abs(
      std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(a.size()), 0.0) -
      middle);
  std::vector<bool> chosen(all.size(), false);
  std::fill_n(chosen.begin(), a.size(), true);
  double as_far = 0.0, choices = 0.0;
  do {
    double sum = 0.0;
    for (std::size_t i = 0; i < all.size(); ++i) sum += chosen[i] ? ranks[i] : 0.0;
    if (std::abs(sum - middle) >= found - 1e-9) ++as_far;
    ++choices;
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return as_far / choices;
}

TEST(RankShift, BoundsTheChanceByEnumeration) {
  std::mt19937_64 generator(1);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<double> a(3 + generator() % 5), b(2 + generator() % 6);
    const double shift = 0.5 * static_cast<double>(trial % 5);
    for (double& value : a) value = std::floor(6.0 * testing::unit(generator) + 6.0 * shift);
    for (double& value : b) value = std::floor(6.0 * testing::unit(generator));  // many are equal
    const double bound = log_chance_of_rank_shift(a, b);
    EXPECT_GE(bound, std::log(enumerated_chance(a, b)) - 1e-9) << "trial " << trial;
    EXPECT_LE(bound, 0.0);
  }
}

std::vector<double> shifted_draws(std::size_t n, std::uint64_t seed, double shift = 0.0) {
  std::mt19937_64 generator(seed);
  std::vector<double> values(n);
  for (double& value : values) value = testing::unit(generator) + shift;
  return values;
}

// As many as conditional inputs: sets that overlap little are told apart, the same law is not.
TEST(RankShift, SeesWhatIsStatedOfIt) {
  constexpr double kRate = -16.1;  // log 1e-7
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<double> some = shifted_draws(157, seed);
    EXPECT_GT(log_chance_of_rank_shift(some, shifted_draws(157, seed + 100)), kRate / 3.0);
    EXPECT_LT(log_chance_of_rank_shift(some, shifted_draws(157, seed + 100, 0.5)), kRate);
    EXPECT_LT(log_chance_of_rank_shift(shifted_draws(157, seed + 100, 0.5), some), kRate);
  }
}

TEST(RankShift, SeesALittleInManyRows) {
  const std::vector<double> some = shifted_draws(20000, 1);
  EXPECT_GT(log_chance_of_rank_shift(some, shifted_draws(20000, 2)), -6.0);
  EXPECT_LT(log_chance_of_rank_shift(some, shifted_draws(20000, 2, 0.04)), -16.1);
}

// One value among many counts as one, whatever it is.
TEST(RankShift, APlantedValueHidesNothing) {
  std::vector<double> a = shifted_draws(157, 3, 0.5);
  a[7] = -std::numeric_limits<double>::infinity();
  EXPECT_LT(log_chance_of_rank_shift(a, shifted_draws(157, 4)), -15.0);
}

TEST(RankShift, EdgesAreDefined) {
  EXPECT_EQ(log_chance_of_rank_shift({}, shifted_draws(3, 1)), 0.0);
  EXPECT_EQ(log_chance_of_rank_shift(shifted_draws(3, 1), {}), 0.0);
  const std::vector<double> alike(9, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(log_chance_of_rank_shift(alike, alike), 0.0);
  EXPECT_THROW(log_chance_of_rank_shift(std::vector{std::nan("")}, alike), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
