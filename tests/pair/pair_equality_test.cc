#include "bridgemark/pair/pair_equality.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/pair_record.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

TEST(PairEquality, HoldsThroughAFolder) {
  PairSpec observed = testing::small_spec(), two_sided = observed, chain = observed, tree;
  observed.source = SourceDistribution::empirical(States(7, 2, 3), 6);
  two_sided.family = PairFamily::kTwoSided;
  two_sided.min_distance = 1.0;
  chain.family = PairFamily::kChain;
  chain.min_distance = 1.0;
  chain.num_categories = two_sided.num_categories = 20;
  tree = chain;
  tree.family = PairFamily::kTree;
  PairSpec two_trees = tree;
  two_trees.two_sided = true;
  for (const PairSpec& spec : {testing::small_spec(), testing::nonsymmetric_spec(), observed,
                               two_sided, chain, tree, two_trees}) {
    const BenchmarkPair pair = testing::pair_with_test_set(spec, 200);
    const testing::TempDir dir;
    write_pair_folder({}, pair, dir.path());
    EXPECT_TRUE(equal_pairs({}, pair, read_pair_folder(dir.path()))) << spec.name;
    EXPECT_FALSE(equal_pairs({}, pair, pair.reversed())) << spec.name;
  }
}

TEST(PairEquality, SeesTheShapeOfATree) {
  PairSpec spec = testing::small_spec();
  spec.family = PairFamily::kTree;
  spec.num_categories = 20;
  spec.min_distance = 1.0;
  spec.dim = 4;
  const BenchmarkPair halves = build_pair(spec);
  spec.tree = TreeShape({-1, 0, 0, 0, 1, 1, 3}, {3, 4, 5, 6});
  EXPECT_FALSE(equal_pairs({}, halves, build_pair(spec)));
  EXPECT_NE(pair_record(halves), pair_record(build_pair(spec)));
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
