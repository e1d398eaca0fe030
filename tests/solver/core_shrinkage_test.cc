#include "bridgemark/solver/cp/core_shrinkage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/solver/cp/component_shares.h"
#include "bridgemark/solver/cp/core_finish.h"
#include "tests/io/io_testing.h"

// Cores of few rows that lend each other what they have in common.
namespace bridgemark {
namespace {

using Tensors = backend::CpTensors<float>;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

constexpr std::size_t kRows = 60;  // of each core's histogram

// A CP potential of two components whose cores are bumps over the categories, as they are and as 60
// draws from each would tell them; order[s] is the category that is called s.
struct Bumps {
  static constexpr std::size_t D = 40, S = 12, K = 2;

  explicit Bumps(const std::vector<std::size_t>& order) {
    std::mt19937 random(7);
    for (std::size_t d = 0; d < D; ++d) {
      for (std::size_t k = 0; k < K; ++k) {
        const double mean = 2.0 + std::fmod(3.7 * static_cast<double>(d * K + k), 8.0);
        std::vector<double> bump(S), counts(S, 0.5);
        for (std::size_t s = 0; s < S; ++s) {
          bump[s] = std::exp(-0.125 * std::pow(static_cast<double>(s) - mean, 2.0));
        }
        const double sum = std::accumulate(bump.begin(), bump.end(), 0.0);
        std::discrete_distribution<std::size_t> draw(bump.begin(), bump.end());
        for (std::size_t i = 0; i < kRows; ++i) ++counts[draw(random)];
        for (std::size_t s = 0; s < S; ++s) {
          const std::size_t at = (d * S + s) * K + k;
          truth.log_cores[at] = static_cast<float>(std::log(bump[order[s]] / sum));
          estimate.log_cores[at] =
              static_cast<float>(std::log(counts[order[s]] / (kRows + 0.5 * S)));
        }
      }
    }
  }

  // The estimate, shrunk. The reference comes to all categories alike, and both components have
  // half of the rows.
  Tensors shrunk(double strength) const {
    const Matrix<double> log_reach(D, S, -std::log(static_cast<double>(S)));
    States x1(4, D, 0);
    ComponentShares shares = measure_components({}, estimate, log_reach, x1, x1.rows());
    for (std::size_t i = 0; i < D * K; ++i) shares.share.data()[i] = 0.5;
    return shrink_cores(estimate, shares, 2 * kRows, strength);
  }

  // Mean KL of cores to the true ones.
  double distance(const Tensors& tensors) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < truth.log_cores.size(); ++i) {
      sum += std::exp(truth.log_cores[i]) * (truth.log_cores[i] - tensors.log_cores[i]);
    }
    return sum / (D * K);
  }

  Tensors truth{D, S, K, false}, estimate{D, S, K, false};
};

std::vector<std::size_t> in_order() {
  std::vector<std::size_t> order(Bumps::S);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

TEST(CoreShrinkage, BringsCoresNearerToTheTrueOnes) {
  const Bumps bumps(in_order());
  const double raw = bumps.distance(bumps.estimate);
  EXPECT_LT(bumps.distance(bumps.shrunk(1.0)), 0.5 * raw);
  EXPECT_LT(bumps.distance(bumps.shrunk(0.25)), raw);
}

// It learns which categories are near: their names do not matter.
TEST(CoreShrinkage, KnowsNoOrderOfCategories) {
  std::vector<std::size_t> order = in_order();
  std::reverse(order.begin() + 1, order.begin() + 7);
  std::swap(order[0], order[9]);
  const Bumps plain(in_order()), renamed(order);
  const Tensors a = plain.shrunk(1.0), b = renamed.shrunk(1.0);
  for (std::size_t d = 0; d < Bumps::D; ++d) {
    for (std::size_t s = 0; s < Bumps::S; ++s) {
      for (std::size_t k = 0; k < Bumps::K; ++k) {
        ASSERT_NEAR(a.log_cores[(d * Bumps::S + order[s]) * Bumps::K + k],
                    b.log_cores[(d * Bumps::S + s) * Bumps::K + k], 1e-4);
      }
    }
  }
}

TEST(CoreShrinkage, StrengthZeroLeavesThePotentialAsItIs) {
  const Bumps bumps(in_order());
  EXPECT_EQ(bumps.shrunk(0.0).log_cores, bumps.estimate.log_cores);
}

// Endless noise makes all cores alike, and none of them 0.
TEST(CoreShrinkage, AnyStrengthGivesFiniteCores) {
  const Bumps bumps(in_order());
  for (const double strength : {1e-9, 8.0, 1e6}) {
    for (const float value : bumps.shrunk(strength).log_cores) ASSERT_TRUE(std::isfinite(value));
  }
  EXPECT_THAT(error_of<InvalidArgument>([&] { bumps.shrunk(-1.0); }), HasSubstr("got -1"));
}

TEST(CoreFinishes, AreSearchedAlongBothAxes) {
  const CoreFinishes finishes{{0.0, 1.0, 2.0}, {0, 3}};
  using F = CoreFinish;
  EXPECT_THAT(finishes.first(), ElementsAre(F{0.0, 0}, F{0.0, 3}, F{1.0, 0}, F{2.0, 0}));
  EXPECT_THAT(finishes.near({1.0, 3}), ElementsAre(F{1.0, 0}, F{1.0, 3}, F{0.0, 3}, F{2.0, 3}));
  EXPECT_THAT(finishes.near({0.0, 0}), ElementsAre(F{0.0, 0}, F{0.0, 3}, F{1.0, 0}));
}

TEST(CoreFinishes, AValueThatIsGivenIsTheOnlyOne) {
  const ReferenceProcess process = ReferenceProcess::uniform(300, 0.1, 16);
  EXPECT_THAT(core_finishes(2.0, 4, process).first(), ElementsAre(CoreFinish{2.0, 4}));
  // 300 categories are too many to be shrunk by default.
  EXPECT_THAT(core_finishes({}, 4, process).first(), ElementsAre(CoreFinish{0.0, 4}));
}

}  // namespace
}  // namespace bridgemark
