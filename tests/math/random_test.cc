#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "bridgemark/math/normal.h"
#include "bridgemark/math/philox.h"
#include "tests/support/chi_square.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Philox4x32-10 as its paper defines it.
Words philox(Words counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t right = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(right >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(right),
               static_cast<std::uint32_t>(left >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(left)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

double to_uniform(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>(((std::uint64_t{high} << 32) | low) >> 11) * 0x1.0p-53;
}

// The known answers that come with Random123.
TEST(Philox, KnownAnswers) {
  struct Known {
    Words counter;
    std::array<std::uint32_t, 2> key;
    Words answer;
  };
  const Known table[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                         {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                          {0xffffffff, 0xffffffff},
                          {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                         {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                          {0xa4093822, 0x299f31d0},
                          {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const Known& known : table) {
    EXPECT_EQ(philox(known.counter, known.key), known.answer);
    const r123::Philox4x32::ctr_type counter{
        {known.counter[0], known.counter[1], known.counter[2], known.counter[3]}};
    const auto words = r123::Philox4x32()(counter, {{known.key[0], known.key[1]}});
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(words[i], known.answer[i]);
  }
}

// Key: the seed, low word first. Counter: index (two words), purpose and detail, block number.
TEST(DrawSequence, LayoutOfTheCounter) {
  DrawSequence zero({0, static_cast<DrawPurpose>(0), 0}, 0);
  EXPECT_EQ(zero.uniform(), to_uniform(0x6627e8d5, 0xe169c58d));
  EXPECT_EQ(zero.uniform(), to_uniform(0xbc57ac4c, 0x9b00dbd8));

  std::mt19937_64 generator(3);
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t seed = generator(), index = generator();
    const auto purpose = static_cast<std::uint32_t>(1 + generator() % 11);
    const auto detail = static_cast<std::uint32_t>(generator() & 0xffffff);
    DrawSequence draws({seed, static_cast<DrawPurpose>(purpose), detail}, index);
    for (std::uint32_t block = 0; block < 5; ++block) {
      const Words words =
          philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                  (purpose << 24) | detail, block},
                 {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
      EXPECT_EQ(draws.uniform(), to_uniform(words[0], words[1]));
      EXPECT_EQ(draws.uniform(), to_uniform(words[2], words[3]));
    }
  }
}

TEST(DrawSequence, DoesNotDependOnOrder) {
  const DrawKey key{5, DrawPurpose::kShuffle, 2};
  std::vector<double> forward(100), backward(100);
  for (std::size_t i = 0; i < 100; ++i) forward[i] = DrawSequence(key, i).uniform();
  for (std::size_t i = 100; i-- > 0;) backward[i] = DrawSequence(key, i).uniform();
  EXPECT_EQ(forward, backward);
  DrawSequence a(key, 0), b(key, 1);  // drawn in turns
  std::vector<double> mixed_a, mixed_b, alone_a, alone_b;
  for (int i = 0; i < 9; ++i) {
    mixed_a.push_back(a.uniform());
    mixed_b.push_back(b.uniform());
  }
  DrawSequence again_a(key, 0), again_b(key, 1);
  for (int i = 0; i < 9; ++i) alone_a.push_back(again_a.uniform());
  for (int i = 0; i < 9; ++i) alone_b.push_back(again_b.uniform());
  EXPECT_EQ(mixed_a, alone_a);
  EXPECT_EQ(mixed_b, alone_b);
}

TEST(DrawSequence, UniformOnTheHalfOpenInterval) {
  constexpr std::size_t kCells = 100;
  std::vector<std::size_t> within(kCells, 0), across(kCells, 0);
  DrawSequence draws({11, DrawPurpose::kSource}, 0);
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const double u = draws.uniform(), v = DrawSequence({11, DrawPurpose::kSource}, i).uniform();
    ASSERT_TRUE(0.0 <= u && u < 1.0);
    ++within[static_cast<std::size_t>(u * kCells)];
    ++across[static_cast<std::size_t>(v * kCells)];
  }
  const std::vector<double> flat(kCells, 1.0 / kCells);
  EXPECT_TRUE(testing::fits(within, flat)) << "along one sequence";
  EXPECT_TRUE(testing::fits(across, flat)) << "over the indices";
}

TEST(DeriveSeed, SaltsGiveSeedsApart) {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (std::uint64_t salt = 0; salt < 20; ++salt) seeds.push_back(derive_seed(seed, salt));
  }
  std::sort(seeds.begin(), seeds.end());
  EXPECT_EQ(std::adjacent_find(seeds.begin(), seeds.end()), seeds.end());
}

TEST(Normal, DistributionFunction) {
  // P(Z <= -10), where 1 - P(Z <= 10) would be lost.
  EXPECT_TRUE(testing::is_near(normal_cdf(-10.0), 7.619853024160527e-24, {1e-13, 0.0}));
  EXPECT_TRUE(testing::is_near(normal_cdf(1.959963984540054), 0.975, {1e-14, 0.0}));
  EXPECT_EQ(normal_cdf(0.0), 0.5);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(normal_cdf(-inf), 0.0);
  EXPECT_EQ(normal_cdf(inf), 1.0);
  EXPECT_EQ(normal_interval(-inf, inf), 1.0);
  EXPECT_EQ(normal_interval(8.0, 9.0), normal_interval(-9.0, -8.0)) << "no cancellation above";
  EXPECT_TRUE(testing::is_near(normal_interval(10.0, inf), 7.619853024160527e-24, {1e-13, 0.0}));
  EXPECT_EQ(normal_interval(1.0, 1.0), 0.0);
}

TEST(Normal, DrawsFollowTheDistribution) {
  constexpr std::size_t kCells = 40, kDraws = 200000;
  std::vector<std::size_t> counts(kCells, 0);
  double sum = 0.0, squares = 0.0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    DrawSequence draws({12, DrawPurpose::kInitialise}, i);
    const double z = draw_normal(draws);
    ASSERT_TRUE(std::isfinite(z));
    sum += z;
    squares += z * z;
    ++counts[std::min(kCells - 1, static_cast<std::size_t>(normal_cdf(z) * kCells))];
  }
  EXPECT_TRUE(testing::fits(counts, std::vector<double>(kCells, 1.0 / kCells)));
  // Five standard errors: a false alarm in 2e6 for each.
  EXPECT_NEAR(sum / kDraws, 0.0, 5.0 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0, 5.0 * std::sqrt(2.0 / kDraws));
}

}  // namespace
}  // namespace bridgemark
