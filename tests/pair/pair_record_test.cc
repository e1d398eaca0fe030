#include "bridgemark/pair/pair_record.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/pair/pair_folder.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

std::string fingerprint(const BenchmarkPair& pair) {
  return pair_record(pair).at("fingerprint").get<std::string>();
}

// A pair with everything of its own: a matrix reference, and a pmf that is normalised when read.
PairSpec own_spec() {
  PairSpec spec = testing::nonsymmetric_spec();
  spec.source = SourceDistribution::product(
      Matrix<double>(2, 5, {0.1, 0.2, 0.3, 0.1, 0.3000001, 0.2, 0.2, 0.2, 0.2, 0.2}));
  return spec;
}

TEST(PairRecord, EachPartOfTheTruthCounts) {
  const std::string before = fingerprint(build_pair(own_spec()));
  const std::vector<std::function<void(PairSpec&)>> changes = {
      [](PairSpec& spec) { spec.version = 2; },
      [](PairSpec& spec) { spec.sigma = 0.81; },
      [](PairSpec& spec) { spec.total_steps = 32; },
      [](PairSpec& spec) { spec.reference_matrix = testing::random_stochastic(5, 0.9, 22); },
      [](PairSpec& spec) { spec.source = SourceDistribution::gaussian(2, 5, -7.0, 7.0); },
      [](PairSpec& spec) { spec.source = SourceDistribution::gaussian(2, 5, -7.0, 6.0); },
      [](PairSpec& spec) { spec.source = SourceDistribution::uniform(2, 5, -7.0, 7.0); },
      [](PairSpec& spec) {
        spec.source = SourceDistribution::empirical({2, 2, {0, 1, 2, 3}}, 5);
      },
      [](PairSpec& spec) {
        spec.source = SourceDistribution::empirical({2, 2, {0, 1, 2, 4}}, 5);
      },
      [](PairSpec& spec) {
        Matrix<double> pmf = spec.source->given_pmf();
        pmf(1, 0) = 0.21, pmf(1, 1) = 0.19;
        spec.source = SourceDistribution::product(pmf);
      }};
  std::vector<std::string> seen{before};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    PairSpec spec = own_spec();
    changes[i](spec);
    seen.push_back(fingerprint(build_pair(spec)));
    for (std::size_t j = 0; j <= i; ++j) EXPECT_NE(seen[j], seen.back()) << i << ' ' << j;
  }
  // The direction is no part of the truth, and a repeated construction is the same.
  EXPECT_EQ(fingerprint(build_pair(own_spec()).reversed()), before);
}

TEST(PairRecord, SurvivesAFolder) {
  const testing::TempDir dir;
  PairSpec empirical = testing::small_spec();
  empirical.source = SourceDistribution::empirical({2, 2, {0, 1, 2, 3}}, 6);
  PairSpec two_sided = testing::small_spec();
  two_sided.source_potential = CpPotential({0.0}, Array3<double>(2, 6, 1, 0.5));
  PairSpec trees = testing::small_spec();
  trees.num_categories = 20;
  trees.family = PairFamily::kTree;
  trees.two_sided = true;
  EXPECT_NE(pair_record(build_pair(trees))["fingerprint"],
            pair_record(build_pair(trees))["potential_fingerprint"]);
  int number = 0;
  for (const PairSpec& spec : {own_spec(), testing::small_spec(), empirical, two_sided, trees}) {
    const BenchmarkPair pair = testing::pair_with_test_set(spec, 10);
    const auto folder = dir.path() / std::to_string(number++);
    write_pair_folder({}, pair, folder);
    EXPECT_EQ(pair_record(read_pair_folder(folder)), pair_record(pair));
  }
}

TEST(PairRecord, OlderRecordsAreComparedByWhatTheySay) {
  const nlohmann::json now = pair_record(build_pair(testing::small_spec()));
  nlohmann::json older = now;
  older["fingerprint"] = now["potential_fingerprint"];
  older.erase("potential_fingerprint");
  EXPECT_TRUE(same_pair(older, now));
  EXPECT_TRUE(same_pair(now, older));
  older["fingerprint"] = "0000000000000000";
  EXPECT_FALSE(same_pair(older, now));
  nlohmann::json other = now;
  other["fingerprint"] = "0000000000000000";
  EXPECT_FALSE(same_pair(other, now));
  EXPECT_TRUE(same_pair(nlohmann::json::object(), now));
}

// What the committed results were measured on is what the presets are.
TEST(PairRecord, CommittedResultsKnowTheirPair) {
  const nlohmann::json committed = {{"fingerprint", "acd25ddd5660d327"},
                                    {"name", "d2-gaussian-0.02"},
                                    {"reverse", false},
                                    {"seed", 20260},
                                    {"version", 1}};
  EXPECT_TRUE(same_pair(committed, pair_record(load_pair("d2-gaussian-0.02"))));
  // Measured before there were two fingerprints, when one had no potential of x0 in it.
  const nlohmann::json two_sided = {{"fingerprint", "bb4e4c33c0f1db16"},
                                    {"name", "d2-gaussian-0.02-twosided-reverse"},
                                    {"reverse", true},
                                    {"seed", 20272},
                                    {"version", 1}};
  EXPECT_TRUE(same_pair(two_sided, pair_record(load_pair("d2-gaussian-0.02-twosided-reverse"))));
}

TEST(PairRecord, TheWholeDecidesWhereBothHaveIt) {
  const nlohmann::json now = pair_record(build_pair(testing::small_spec()));
  nlohmann::json other = now;
  other["potential_fingerprint"] = "0000000000000000";  // once made of more for some pairs
  EXPECT_TRUE(same_pair(other, now));
  other["fingerprint"] = "0000000000000000";
  EXPECT_FALSE(same_pair(other, now));
}

// Scores of two test sets are two columns; a training is of either. Older records say nothing.
TEST(PairRecord, ScoresBelongToATestSet) {
  const BenchmarkPair drawn = build_pair(testing::small_spec());
  BenchmarkPair same = build_pair(testing::small_spec()),
                other = testing::pair_with_test_set(testing::small_spec(), 10), turned = other;
  same.store_test_set(drawn.test_set({}));
  turned.store_test_set({other.test_set({}).x1, other.test_set({}).x0});
  const auto record = [](const BenchmarkPair& pair) { return scored_pair_record({}, pair); };
  EXPECT_TRUE(same_scored_pair(record(drawn), record(same)));
  EXPECT_FALSE(same_scored_pair(record(drawn), record(other)));
  EXPECT_FALSE(same_scored_pair(record(other), record(turned)));
  EXPECT_TRUE(same_pair(record(drawn), record(other)));
  EXPECT_TRUE(same_scored_pair(record(other), pair_record(drawn)));
  EXPECT_TRUE(same_scored_pair(pair_record(drawn), record(other)));
  EXPECT_NE(pair_text(record(drawn)), pair_text(record(other)));
}

TEST(PairRecord, TextNamesThePairInOneLine) {
  EXPECT_EQ(pair_text({{"name", "a\nb"}, {"version", 1}, {"seed", 2}, {"fingerprint", "0f"}}),
            "'a\\x0ab' (version 1, seed 2, fingerprint 0f)");
  EXPECT_EQ(pair_text(nullptr), "'unknown' (version unknown, seed unknown, fingerprint unknown)");
}

}  // namespace
}  // namespace bridgemark
