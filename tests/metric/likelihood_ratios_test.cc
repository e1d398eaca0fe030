#include "bridgemark/metric/likelihood_ratios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/experiment/results_testing.h"

namespace bridgemark {
namespace {

using ::testing::HasSubstr;
using testing::kInfinity;

// log q/p of rows of p, both normal with unit variance and means 0 and `distance`: heavy-tailed the
// more, the further q is away.
std::vector<double> normal_ratios(std::size_t rows, double distance, std::uint64_t seed) {
  std::vector<double> ratios(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    ratios[i] = distance * testing::normal(seed, i) - 0.5 * distance * distance;
  }
  return ratios;
}

TEST(LikelihoodRatios, RaiseNoMoreFalseAlarmsThanStated) {
  constexpr int kSeeds = 3000;
  constexpr double kLevel = 0.05;
  for (const double distance : {0.0, 0.05, 0.3, 1.0, 3.0}) {
    int alarms = 0, refused = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
      const auto ratios = normal_ratios(100, distance, static_cast<std::uint64_t>(seed));
      alarms += log_evidence_against(ratios) > -std::log(kLevel);
      refused += are_no_probabilities(ratios);
    }
    EXPECT_LE(alarms, kLevel * kSeeds) << distance;
    EXPECT_EQ(refused, 0) << distance;
  }
}

TEST(LikelihoodRatios, AreNoProbabilitiesWhereRowsAreOverstated) {
  constexpr std::size_t kTestRows = 20000;
  const auto shifted = [&](double distance, double shift) {
    std::vector<double> ratios = normal_ratios(kTestRows, distance, 1);
    for (double& ratio : ratios) ratio += shift;
    return ratios;
  };
  EXPECT_FALSE(are_no_probabilities(shifted(0.0, 5e-4)));
  EXPECT_TRUE(are_no_probabilities(shifted(0.0, 2e-3)));
  EXPECT_FALSE(are_no_probabilities(shifted(0.5, 0.0)));
  EXPECT_TRUE(are_no_probabilities(shifted(0.5, 0.1)));
  EXPECT_TRUE(are_no_probabilities(shifted(1.0, 0.5)));  // a KL of 0 where it is 1/2
}

// One row, a tenth and a half of them have no probability at all, to hide what the others have.
TEST(LikelihoodRatios, PlantedRowsHideNothing) {
  for (const std::size_t every : {20000u, 10u, 2u}) {
    std::vector<double> ratios = normal_ratios(20000, 0.3, 2);
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      ratios[i] = i % every == 0 ? -kInfinity : ratios[i] + 1.0;
    }
    EXPECT_TRUE(are_no_probabilities(ratios)) << every;
  }
}

TEST(LikelihoodRatios, AJointKlBelowZeroIsRefusedWhateverItsError) {
  std::vector<double> rows(20000, -0.5);
  rows[7] = 1e5;  // the mean is 4.5 ± 5
  EXPECT_THAT(
      [&] { refuse_impossible_joint(rows); },
      ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("joint_kl is 4.500025 ± 5.0000")));
  EXPECT_NO_THROW(refuse_impossible_joint(std::vector<double>(20000, 0.0)));
  EXPECT_NO_THROW(refuse_impossible_joint({}));
}

}  // namespace
}  // namespace bridgemark
