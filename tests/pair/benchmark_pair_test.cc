#include "bridgemark/pair/benchmark_pair.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/io/io_testing.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"

namespace bridgemark {
namespace {

using testing::BridgeCase;
using testing::error_of;
using testing::fits;
using testing::kContext;
using testing::Wide;

constexpr std::size_t kRows = 60000;
constexpr std::uint64_t kSeed = 23;

// A bridge on {0..2}^2 with a skewed p0, and the laws of its ends by enumeration.
struct SmallPair {
  BridgeCase item = make_item();
  SourceDistribution source =
      SourceDistribution::product(Matrix<double>(2, 3, {0.5, 0.3, 0.2, 0.1, 0.2, 0.7}));
  std::vector<double> p0 = std::vector<double>(9), p1 = std::vector<double>(9, 0.0);
  std::vector<double> joint = std::vector<double>(81);  // [x0, x1]

  SmallPair() {
    const Wide conditional = item.oracle.conditional();
    const States& states = item.oracle.states();
    for (std::size_t i = 0; i < 9; ++i) {
      const std::vector<double> first{0.5, 0.3, 0.2}, second{0.1, 0.2, 0.7};
      p0[i] = first[static_cast<std::size_t>(states(i, 0))] *
              second[static_cast<std::size_t>(states(i, 1))];
      for (std::size_t j = 0; j < 9; ++j) {
        joint[i * 9 + j] = p0[i] * static_cast<double>(conditional(i, j));
        p1[j] += joint[i * 9 + j];
      }
    }
  }

  static BridgeCase make_item() {
    const Matrix<double> step = testing::random_stochastic(3, 0.98, 71);
    return testing::make_case("", ReferenceProcess::from_matrix(step), testing::widen(step),
                              {2, 3, 3, 2.0}, 72);
  }

  BenchmarkPair pair(bool reverse = false) const {
    return {{"small", 1, 7}, source, item.bridge, reverse};
  }
};

std::vector<std::size_t> count_one(const States& states) {
  std::vector<std::size_t> counts(9, 0);
  for (std::size_t i = 0; i < states.rows(); ++i)
    ++counts[testing::state_index(states.row(i), 2, 3)];
  return counts;
}

std::vector<std::size_t> count_two(const States& first, const States& second) {
  std::vector<std::size_t> counts(81, 0);
  for (std::size_t i = 0; i < first.rows(); ++i) {
    ++counts[testing::state_index(first.row(i), 2, 3) * 9 +
             testing::state_index(second.row(i), 2, 3)];
  }
  return counts;
}

std::vector<double> transposed(const std::vector<double>& joint) {
  std::vector<double> out(81);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 9; ++j) out[j * 9 + i] = joint[i * 9 + j];
  }
  return out;
}

TEST(BenchmarkPair, DrawsFollowTheOracle) {
  const SmallPair small;
  const BenchmarkPair pair = small.pair();
  const States x0 = pair.sample_x0(kContext, kRows, kSeed);
  const States x1 = pair.sample_x1(kContext, kRows, kSeed);
  EXPECT_TRUE(fits(count_one(x0), small.p0));
  EXPECT_TRUE(fits(count_one(x1), small.p1));
  const PairedStates joint = pair.sample_joint(kContext, kRows, kSeed);
  EXPECT_TRUE(fits(count_two(joint.x0, joint.x1), small.joint));
  const States drawn = pair.sample_conditional(kContext, x0, kSeed);
  EXPECT_TRUE(fits(count_two(x0, drawn), small.joint));

  // The two ends under one seed are independent: nothing of the coupling leaks to a solver.
  std::vector<double> product(81);
  for (std::size_t i = 0; i < 81; ++i) product[i] = small.p0[i / 9] * small.p1[i % 9];
  EXPECT_TRUE(fits(count_two(x0, x1), product));
  EXPECT_FALSE(fits(count_two(joint.x0, joint.x1), product)) << "the check can tell them apart";
}

TEST(BenchmarkPair, ReversedPairSwapsTheEnds) {
  const SmallPair small;
  const BenchmarkPair pair = small.pair(true);
  EXPECT_TRUE(fits(count_one(pair.sample_x0(kContext, kRows, kSeed)), small.p1));
  EXPECT_TRUE(fits(count_one(pair.sample_x1(kContext, kRows, kSeed)), small.p0));
  const PairedStates joint = pair.sample_joint(kContext, kRows, kSeed);
  EXPECT_TRUE(fits(count_two(joint.x0, joint.x1), transposed(small.joint)));
  const PairedStates forward = small.pair().test_set(kContext), test = pair.test_set(kContext);
  EXPECT_EQ(test.x0, forward.x1);
  EXPECT_EQ(test.x1, forward.x0);
}

TEST(BenchmarkPair, BatchesJoinUpForAnyThreads) {
  const BenchmarkPair pair = SmallPair().pair();
  constexpr std::size_t kCount = 4000;
  const PairedStates joint = pair.sample_joint({.num_threads = 1}, kCount, kSeed, 11);
  const States x0 = pair.sample_x0({.num_threads = 1}, kCount, kSeed, 11);
  const States x1 = pair.sample_x1({.num_threads = 1}, kCount, kSeed, 11);
  for (const int threads : {1, 2, 5}) {
    const Context context{.num_threads = threads};
    for (std::size_t first = 0; first < kCount; first += 1000) {
      const auto same = [&](const States& part, const States& whole) {
        return std::equal(part.data(), part.data() + part.size(), whole.row(first));
      };
      const PairedStates part = pair.sample_joint(context, 1000, kSeed, 11 + first);
      EXPECT_TRUE(same(part.x0, joint.x0)) << threads;
      EXPECT_TRUE(same(part.x1, joint.x1)) << threads;
      EXPECT_TRUE(same(pair.sample_x0(context, 1000, kSeed, 11 + first), x0)) << threads;
      EXPECT_TRUE(same(pair.sample_x1(context, 1000, kSeed, 11 + first), x1)) << threads;
      const States conditional = pair.sample_conditional(context, part.x0, kSeed, 11 + first);
      EXPECT_EQ(conditional, part.x1) << "a joint draw is x0 and its conditional draw";
    }
  }
  EXPECT_NE(pair.sample_joint(kContext, kCount, kSeed, 12).x1, joint.x1);
}

TEST(BenchmarkPair, TestSetIsItsOwn) {
  const SmallPair small;
  const BenchmarkPair pair = small.pair();
  const PairedStates test = pair.test_set(kContext);
  EXPECT_EQ(test.x0.rows(), 20000u);
  EXPECT_EQ(test.x1.rows(), 20000u);
  EXPECT_TRUE(fits(count_two(test.x0, test.x1), small.joint));
  // A sample under the pair's own seed shares nothing with the test set.
  const PairedStates same_seed = pair.sample_joint(kContext, 20000, pair.identity().seed);
  EXPECT_NE(same_seed.x0, test.x0);
  EXPECT_NE(same_seed.x1, test.x1);
  std::vector<double> product(81);
  for (std::size_t i = 0; i < 81; ++i) product[i] = small.p0[i / 9] * small.p0[i % 9];
  EXPECT_TRUE(fits(count_two(same_seed.x0, test.x0), product)) << "row by row independent";
  pair.sample_x1(kContext, 100, 99);
  EXPECT_EQ(pair.test_set({.num_threads = 2}).x1, test.x1) << "drawing does not change it";
}

TEST(BenchmarkPair, ConditionalInputsAreEvery128thRow) {
  States test(20000, 2);
  for (std::size_t i = 0; i < test.rows(); ++i) {
    test(i, 0) = static_cast<std::int32_t>(i);
    test(i, 1) = -static_cast<std::int32_t>(i);
  }
  const States inputs = conditional_inputs(test);
  ASSERT_EQ(inputs.rows(), 157u);
  for (std::size_t i = 0; i < inputs.rows(); ++i) {
    EXPECT_EQ(inputs(i, 0), static_cast<std::int32_t>(128 * i));
    EXPECT_EQ(inputs(i, 1), -static_cast<std::int32_t>(128 * i));
  }
  EXPECT_EQ(conditional_inputs(States(1, 2)).rows(), 1u);
  EXPECT_EQ(conditional_inputs(States(129, 2)).rows(), 2u);
}

TEST(BenchmarkPair, StoredTestSetReplacesTheDrawnOne) {
  BenchmarkPair pair = SmallPair().pair();
  const States x0(3, 2, 1), x1(3, 2, 2);
  pair.store_test_set({x0, x1});
  EXPECT_EQ(pair.test_set(kContext).x0, x0);
  EXPECT_EQ(pair.test_set(kContext).x1, x1);
  const auto refuse = [&](States a, States b) {
    return error_of<InvalidArgument>([&] { pair.store_test_set({std::move(a), std::move(b)}); });
  };
  testing::contains(refuse(States(3, 2, 3), x1), "test x0 must hold categories 0..2, got 3");
  testing::contains(refuse(x0, States(3, 1, 0)), "test x1 must have 2 columns");
  testing::contains(refuse(x0, States(2, 2, 0)), "got 3 and 2");
  testing::contains(refuse(States(0, 2), States(0, 2)), "got 0 and 0");
  EXPECT_EQ(pair.test_set(kContext).x0, x0) << "a refused set leaves the old one";
}

TEST(BenchmarkPair, RefusesSpacesThatDiffer) {
  const SmallPair small;
  const auto with = [&](const SourceDistribution& source) {
    return error_of<InvalidArgument>([&] { BenchmarkPair({}, source, small.item.bridge); });
  };
  EXPECT_EQ(with(SourceDistribution::gaussian(3, 3, -1.0, 1.0)),
            "[pair] p0 must live on {0..2}^2 like the bridge, got {0..2}^3");
  EXPECT_EQ(with(SourceDistribution::gaussian(2, 4, -1.0, 1.0)),
            "[pair] p0 must live on {0..2}^2 like the bridge, got {0..3}^2");
}

// More rows than any memory holds are refused by a line, before anything is allocated.
TEST(BenchmarkPair, DrawsThatNoMemoryHoldsAreRefused) {
  const BenchmarkPair pair = SmallPair().pair();
  constexpr std::size_t kTooMany = 1'000'000'000'000'000;
  const auto refusal = [](auto&& draw) {
    try {
      draw();
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  const auto says = [](const std::string& message, const char* gibibytes) {
    return message.starts_with("[memory] drawing 1000000000000000 rows of 2 states needs about ") &&
           message.find(gibibytes) != std::string::npos &&
           message.find("lower the number of rows") != std::string::npos;
  };
  for (const BenchmarkPair& one : {pair, pair.reversed()}) {
    const bool back = one.reverse();
    const std::string x0 = refusal([&] { one.sample_x0({}, kTooMany, 1); }),
                      x1 = refusal([&] { one.sample_x1({}, kTooMany, 1); }),
                      both = refusal([&] { one.sample_joint({}, kTooMany, 1); });
    EXPECT_PRED2(says, x0, back ? "14901161.2 GiB" : "7450580.6 GiB") << x0;
    EXPECT_PRED2(says, x1, back ? "7450580.6 GiB" : "14901161.2 GiB") << x1;
    EXPECT_PRED2(says, both, "14901161.2 GiB") << both;
  }
}

}  // namespace
}  // namespace bridgemark
