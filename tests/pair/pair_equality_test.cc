#include "bridgemark/pair/pair_equality.h"

#include <gtest/gtest.h>

#include "bridgemark/pair/pair_folder.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

TEST(PairEquality, HoldsThroughAFolder) {
  PairSpec observed = testing::small_spec(), two_sided = observed, chain = observed;
  observed.source = SourceDistribution::empirical(States(7, 2, 3), 6);
  two_sided.family = PairFamily::kTwoSided;
  two_sided.min_distance = 1.0;
  chain.family = PairFamily::kChain;
  chain.min_distance = 1.0;
  chain.num_categories = two_sided.num_categories = 20;
  for (const PairSpec& spec :
       {testing::small_spec(), testing::nonsymmetric_spec(), observed, two_sided, chain}) {
    const BenchmarkPair pair = testing::pair_with_test_set(spec, 200);
    const testing::TempDir dir;
    write_pair_folder({}, pair, dir.path());
    EXPECT_TRUE(equal_pairs({}, pair, read_pair_folder(dir.path()))) << spec.name;
    EXPECT_FALSE(equal_pairs({}, pair, pair.reversed())) << spec.name;
  }
}

TEST(PairEquality, SeesEachPart) {
  const PairSpec spec = testing::small_spec();
  const BenchmarkPair pair = build_pair(spec);
  const auto differs = [&](auto&& change) {
    PairSpec other = spec;
    change(other);
    return !equal_pairs({}, pair, build_pair(other));
  };
  EXPECT_TRUE(equal_pairs({}, pair, build_pair(spec)));
  EXPECT_TRUE(differs([](PairSpec& s) { s.name = "other"; }));
  EXPECT_TRUE(differs([](PairSpec& s) { s.seed = 5; }));
  EXPECT_TRUE(differs([](PairSpec& s) { s.gamma = 0.3; }));
  EXPECT_TRUE(differs([](PairSpec& s) { s.total_steps = 8; }));
  EXPECT_TRUE(differs([](PairSpec& s) { s.sigma = 0.9; }));
  EXPECT_TRUE(differs([](PairSpec& s) { s.reverse = true; }));
  EXPECT_TRUE(
      differs([](PairSpec& s) { s.source = SourceDistribution::uniform(2, 6, -3.0, 3.0); }));
  BenchmarkPair stored = build_pair(spec);
  stored.store_test_set(pair.sample_joint({}, 100, 1));
  EXPECT_FALSE(equal_pairs({}, pair, stored));
}

}  // namespace
}  // namespace bridgemark
