#include "bridgemark/metric/paired_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/math/philox.h"
#include "bridgemark/metric/evaluation.h"
#include "tests/experiment/results_testing.h"
#include "tests/support/small_pair.h"

namespace bridgemark {
namespace {

using testing::normal;

BlockMeans blocks_of(std::size_t rows, std::size_t count,
                     const std::function<double(std::size_t)>& value) {
  BlockMeans blocks{rows, std::vector<double>(count)};
  for (std::size_t b = 0; b < count; ++b) blocks.means[b] = value(b);
  return blocks;
}

Comparison compare(const BlockMeans& first, const BlockMeans& second) {
  PairedComparer comparer;
  return comparer.compare({&first}, {&second}).value();
}

TEST(StudentQuantile, IsThatOfTables) {
  EXPECT_NEAR(student_quantile(1, 0.99), 63.657, 5e-4);
  EXPECT_NEAR(student_quantile(2, 0.99), 9.9248, 5e-5);
  EXPECT_NEAR(student_quantile(3, 0.95), 3.1824, 5e-5);
  EXPECT_NEAR(student_quantile(4, 0.99), 4.6041, 5e-5);
  EXPECT_NEAR(student_quantile(39, 0.99), 2.7079, 5e-5);
  EXPECT_NEAR(student_quantile(1000, 0.95), 1.9623, 5e-5);
}

// What both methods share of an input cancels, however large it is.
TEST(PairedComparison, SharedDifficultyCancels) {
  const auto hard = [](std::size_t b) { return 10.0 * normal(1, b); };
  const BlockMeans first =
      blocks_of(157, 40, [&](std::size_t b) { return hard(b) + normal(2, b); });
  const BlockMeans second =
      blocks_of(157, 40, [&](std::size_t b) { return hard(b) + normal(3, b) - 2.0; });
  const Comparison found = compare(first, second);
  EXPECT_TRUE(found.separated());
  EXPECT_NEAR(found.difference, 2.0, 1.0);
  // Student's interval of 40 differences of variance 2, within the spread of their own variance.
  const double expected = student_quantile(39, 0.99) * std::sqrt(2.0 / 40.0);
  EXPECT_NEAR(found.half_width, expected, 0.35 * expected);
  const Comparison other = compare(second, first);
  EXPECT_EQ(other.difference, -found.difference);
  EXPECT_EQ(other.half_width, found.half_width);
}

// Normal and strongly skewed differences of mean 0: the level holds. 2000 trials of probability
// 0.01 exceed 36 with probability 0.0003.
TEST(PairedComparison, EqualMethodsAreSeldomSeparated) {
  const std::size_t trials = 2000;
  PairedComparer comparer;
  const auto skewed = [](double z) { return std::exp(0.5 * z) - std::exp(0.125); };
  for (const bool skew : {false, true}) {
    std::size_t separated = 0;
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const BlockMeans zero = blocks_of(157, 40, [](std::size_t) { return 0.0; });
      const BlockMeans noise = blocks_of(157, 40, [&](std::size_t b) {
        const double z = normal(100 + trial, b);
        return skew ? skewed(z) : z;
      });
      separated += comparer.compare({&noise}, {&zero})->separated();
    }
    EXPECT_LE(separated, 36u) << (skew ? "skewed" : "normal");
    EXPECT_GE(separated, 2u) << (skew ? "skewed" : "normal");
  }
}

// Worse everywhere, and by far on every fourth block: the long tail is away from 0.
TEST(PairedComparison, FailuresOnSomeInputsAreTold) {
  const BlockMeans good = blocks_of(157, 40, [](std::size_t) { return 0.95; });
  const BlockMeans bad = blocks_of(157, 40, [](std::size_t b) {
    return 0.93 + 0.005 * normal(7, b) - (b % 4 == 0 ? 0.01 * static_cast<double>(b) : 0.0);
  });
  EXPECT_TRUE(compare(good, bad).separated());
  EXPECT_TRUE(compare(bad, good).separated());
}

TEST(PairedComparison, DifferencesThatAreAllAlike) {
  const auto value = [](std::size_t b) { return 0.1 * static_cast<double>(b); };
  const BlockMeans first = blocks_of(157, 40, value);
  const BlockMeans shifted = blocks_of(157, 40, [&](std::size_t b) { return value(b) + 0.3; });
  EXPECT_FALSE(compare(first, first).separated());
  EXPECT_EQ(compare(first, first).half_width, 0.0);
  EXPECT_TRUE(compare(first, shifted).separated());
  // One block alone tells nothing apart.
  const BlockMeans once = blocks_of(157, 40, [&](std::size_t b) { return value(b) + (b == 7); });
  EXPECT_FALSE(compare(first, once).separated());
}

// The largest and the smallest numbers that a record may hold give no NaN.
// A resample without the one block that differs has no error of its own.
TEST(PairedComparison, DifferencesThatAreAllAlikeButOne) {
  const BlockMeans zero = blocks_of(1000, 40, [](std::size_t) { return 0.0; });
  for (const double other : {0.0, 0.1, 0.2}) {
    const BlockMeans first =
        blocks_of(1000, 40, [&](std::size_t b) { return b == 3 ? other : 0.105; });
    EXPECT_TRUE(compare(first, zero).separated()) << other;
    EXPECT_TRUE(compare(zero, first).separated()) << other;
  }
  const BlockMeans one_alone =
      blocks_of(1000, 40, [](std::size_t b) { return b == 3 ? 1.0 : 0.0; });
  EXPECT_FALSE(compare(one_alone, zero).separated());
}

TEST(PairedComparison, ExtremeNumbers) {
  for (const double size : {kMaxBlockMean, 1e-300, 5e-324}) {
    const auto value = [&](std::size_t b) { return b % 3 == 0 ? size : -size; };
    const BlockMeans first = blocks_of(40, 40, value),
                     second = blocks_of(40, 40, [&](std::size_t b) { return -value(b); });
    const Comparison found = compare(first, second);
    EXPECT_FALSE(std::isnan(found.half_width)) << size;
    EXPECT_FALSE(std::isnan(found.difference)) << size;
  }
}

TEST(PairedComparison, SpreadOfTrainingsWidensTheInterval) {
  const auto training = [](double level) {
    return blocks_of(1000, 40, [=](std::size_t b) { return level + 0.01 * normal(5, b); });
  };
  const BlockMeans a = training(1.0), b = training(1.2), c = training(1.4), d = training(1.9),
                   e = training(2.1), f = training(9.0);
  PairedComparer comparer;
  const Comparison single = comparer.compare({&a}, {&d}).value();
  EXPECT_TRUE(single.separated());
  const Comparison several = comparer.compare({&a, &b, &c}, {&d, &e}).value();
  EXPECT_NEAR(several.difference, -0.8, 1e-9);
  // Variances 0.04 / 3 and 0.02 / 2, Welch's degrees of freedom 2.88: 2.
  EXPECT_NEAR(several.half_width, 4.3027 * std::sqrt(0.04 / 3.0 + 0.01), 1e-3);
  EXPECT_TRUE(several.separated());
  EXPECT_FALSE(comparer.compare({&a, &c}, {&d, &e}).value().separated());  // 1 degree, 12.7
  EXPECT_TRUE(comparer.compare({&a, &b, &c}, {&f}).value().separated());
}

TEST(PairedComparison, NeedsTheSameInputs) {
  const auto value = [](std::size_t) { return 0.0; };
  const BlockMeans full = blocks_of(157, 40, value), other = blocks_of(156, 40, value),
                   few = blocks_of(9, 9, value), none;
  PairedComparer comparer;
  EXPECT_TRUE(comparer.compare({&full}, {&full}));
  EXPECT_FALSE(comparer.compare({&full}, {&other}));
  EXPECT_FALSE(comparer.compare({&full, &none}, {&full}));
  EXPECT_FALSE(comparer.compare({&few}, {&few}));
  EXPECT_FALSE(comparer.compare({&none}, {&none}));
  EXPECT_FALSE(comparer.compare({}, {&full}));
}

// The truth with draws of its own, and where asked for with a defect: a share of the answers leaves
// x0 as it is.
class Redrawn : public Coupling {
 public:
  Redrawn(std::shared_ptr<const Coupling> truth, std::uint64_t salt, double lazy = 0.0)
      : truth_(std::move(truth)), salt_(salt), lazy_(lazy) {}
  std::size_t dim() const override { return truth_->dim(); }
  int num_categories() const override { return truth_->num_categories(); }
  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override {
    DrawKey own = key;
    own.seed = derive_seed(key.seed, salt_);
    truth_->sample(context, x0, own, first_index, x1);
    for (std::size_t i = 0; i < x0.rows; ++i) {
      if (draw_uniform({own.seed, DrawPurpose::kShuffle}, first_index + i, 0) < lazy_) {
        std::copy_n(x0.row(i), x0.cols, x1.row(i));
      }
    }
  }

 private:
  std::shared_ptr<const Coupling> truth_;
  std::uint64_t salt_;
  double lazy_;
};

// 200 comparisons of the Oracle with itself, each with draws of its own, separate at most 5 %; a
// solver that leaves 20 % of its inputs where they were is separated.
TEST(PairedComparison, TheOracleIsNotSeparatedFromItself) {
  const BenchmarkPair pair = testing::pair_with_test_set(testing::small_spec(), 128 * 40);
  const std::shared_ptr<const Coupling> truth = pair.truth({});
  EvaluationOptions options;
  options.conditional_samples = 200;
  options.num_trajectories = 1;
  const auto scored = [&](std::uint64_t salt, double lazy) {
    return evaluate({}, pair, Redrawn(truth, salt, lazy), options);
  };
  const Evaluation defect = scored(1000, 0.2);
  PairedComparer comparer;
  std::map<std::string, int> separated, told;
  Evaluation before = scored(0, 0.0);
  for (std::uint64_t salt = 1; salt <= 200; ++salt) {
    Evaluation next = scored(salt, 0.0);
    for (std::size_t i = 0; i < next.scores.size(); ++i) {
      const Score &a = before.scores[i], &b = next.scores[i], &c = defect.scores[i];
      if (a.blocks.means.empty()) continue;
      separated[a.name] += comparer.compare({&a.blocks}, {&b.blocks})->separated();
      told[a.name] += comparer.compare({&a.blocks}, {&c.blocks})->separated();
    }
    before = std::move(next);
  }
  for (const char* name : {"shape_score", "trend_score", "trend_offdiagonal",
                           "conditional_shape_score", "conditional_trend_score",
                           "conditional_trend_offdiagonal", "sampled_conditional_shape_score"}) {
    ASSERT_TRUE(separated.contains(name)) << name;
    EXPECT_LE(separated[name], 10) << name;
  }
  for (const char* name :
       {"conditional_shape_score", "conditional_trend_score", "sampled_conditional_shape_score"}) {
    EXPECT_EQ(told[name], 200) << name;
  }
}

}  // namespace
}  // namespace bridgemark
