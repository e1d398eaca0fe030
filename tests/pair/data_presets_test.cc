#include "bridgemark/pair/data_presets/data_presets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/custom_pair.h"
#include "bridgemark/pair/pair_record.h"
#include "tests/io/io_testing.h"
#include "tests/metric/evaluation_testing.h"
#include "tests/support/context.h"

namespace bridgemark {
namespace {

using testing::error_of;
using testing::kContext;

struct DataPreset {
  const char* name;
  std::size_t dim;
  int num_categories;
  const char* fingerprint;  // of all that defines the pair
};

constexpr DataPreset kDataPresets[] = {
    {"data-digits-3-8", 64, 17, "ed7ee712f5f438a3"},
    {"data-words", 12, 28, "9acb762ede080736"},
    {"data-text", 64, 28, "bf851ea6ae77cec3"},
    {"data-brick-gravel", 256, 64, "77f396bf60e701b9"},
};

void PrintTo(const DataPreset& preset, std::ostream* out) { *out << preset.name; }

class DataPresets : public ::testing::TestWithParam<DataPreset> {};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST_P(DataPresets, AreTheirNumbers) {
  const DataPreset& expected = GetParam();
  const BenchmarkPair pair = load_pair(expected.name);
  EXPECT_EQ(pair.identity().name, expected.name);
  EXPECT_EQ(pair.identity().family, PairFamily::kDistilled);
  EXPECT_EQ(pair.identity().version, 1);
  EXPECT_EQ(pair.dim(), expected.dim);
  EXPECT_EQ(pair.num_categories(), expected.num_categories);
  EXPECT_EQ(pair_record(pair)["fingerprint"].get<std::string>(), expected.fingerprint);
  const auto spec = find_preset(expected.name);
  ASSERT_TRUE(spec);
  EXPECT_EQ(static_cast<std::size_t>(spec->num_components), pair.bridge().num_components());
  EXPECT_EQ(spec->gamma, pair.bridge().process().gamma());
  EXPECT_EQ(spec->reference, pair.bridge().process().kind());
  const auto origin = nlohmann::json::parse(pair.identity().origin);
  for (const char* key : {"licence", "solver", "options", "trained_on", "judged"}) {
    EXPECT_TRUE(origin.contains(key)) << key;
  }
}

// x1 depends on its x0: paired rows are likelier than the same rows shifted by one.
TEST_P(DataPresets, TiesTheirEnds) {
  for (const char* suffix : {"", "-reverse"}) {
    const BenchmarkPair pair = load_pair(GetParam().name + std::string(suffix));
    EXPECT_EQ(pair.reverse(), *suffix != '\0');
    constexpr std::size_t kDraws = 6;
    const PairedStates rows = pair.sample_joint(kContext, kDraws, 3);
    States shifted(kDraws, pair.dim());
    for (std::size_t i = 0; i < kDraws; ++i) {
      for (std::size_t d = 0; d < pair.dim(); ++d) shifted(i, d) = rows.x1((i + 1) % kDraws, d);
    }
    const auto truth = pair.require_truth(kContext);
    std::vector<double> paired(kDraws), unpaired(kDraws);
    truth->log_conditional(kContext, rows.x0, rows.x1, paired);
    truth->log_conditional(kContext, rows.x0, shifted, unpaired);
    EXPECT_TRUE(std::ranges::all_of(paired, [](double p) { return std::isfinite(p) && p <= 0.0; }));
    EXPECT_GT(mean(paired), mean(unpaired) + 1.0) << suffix;
  }
}

TEST_P(DataPresets, ScoreTheirTruthAsExact) {
  BenchmarkPair pair = load_pair(GetParam().name);
  pair.store_test_set(pair.sample_joint(kContext, 16, 5));
  EvaluationOptions options = testing::quick_options();
  options.num_trajectories = 2;
  options.conditional_samples = 8;
  const Evaluation scores = evaluate(kContext, pair, *pair.require_truth(kContext), options);
  EXPECT_EQ(scores.mean("joint_kl"), 0.0);
  EXPECT_EQ(scores.mean("forward_trajectory_kl"), 0.0);
}

TEST_P(DataPresets, AreOnePairEach) {
  const std::string name = GetParam().name;
  EXPECT_FALSE(find_preset(name + "-i3"));
  EXPECT_EQ(error_of<InvalidArgument>([&] { load_pair(name + "-i3-reverse"); }),
            "[pair] pair must be without an instance, as the parameters of " + name +
                " are fixed, got '" + name + "-i3-reverse'");
  const PairSpec preset = *find_preset(name);
  EXPECT_EQ(sibling_of(preset, preset.seed).name, name);
  EXPECT_EQ(error_of<InvalidArgument>([&] { sibling_of(preset, 7); }),
            "[pair] seed of " + name + " must be 0, as its parameters are fixed, got 7");
}

INSTANTIATE_TEST_SUITE_P(All, DataPresets, ::testing::ValuesIn(kDataPresets),
                         [](const auto& preset) {
                           std::string name = preset.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(DataPresetList, FollowsTheFamilies) {
  const std::vector<PairSpec>& all = preset_specs();
  ASSERT_EQ(all.size(), 48 + std::size(kDataPresets));
  for (std::size_t i = 0; i < std::size(kDataPresets); ++i) {
    EXPECT_EQ(all[48 + i].name, kDataPresets[i].name);
  }
}

TEST(DataPresetList, AnyOtherDistilledPairIsNotBuilt) {
  PairSpec spec;
  spec.family = PairFamily::kDistilled;
  EXPECT_EQ(error_of<InvalidArgument>([&] { build_pair(spec); }),
            "[pair] name of a pair of family distilled must be of a preset, got 'custom'");
}

}  // namespace
}  // namespace bridgemark
