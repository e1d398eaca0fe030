#include "bridgemark/pair/training_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/fingerprint.h"
#include "tests/support/chi_square.h"
#include "tests/support/small_pair.h"

namespace bridgemark {
namespace {

using ::testing::HasSubstr;

States first_rows(const States& states, std::size_t rows) {
  States first(rows, states.cols());
  std::copy_n(states.data(), first.size(), first.data());
  return first;
}

TEST(TrainingSet, IsNestedAndTheSameOnAnyNumberOfThreads) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const TrainingSet many = training_set(testing::with_threads(1), pair, 70000, 3);
  const TrainingSet few = training_set(testing::with_threads(3), pair, 700, 3);
  EXPECT_EQ(few.x0, first_rows(many.x0, 700));
  EXPECT_EQ(few.x1, first_rows(many.x1, 700));
  const TrainingSet again = training_set(testing::with_threads(2), pair, 70000, 3);
  EXPECT_EQ(again.x0, many.x0);
  EXPECT_EQ(again.x1, many.x1);
}

TEST(TrainingSet, OfTheReversedPairIsSwapped) {
  for (const BenchmarkPair& pair :
       {build_pair(testing::small_spec()), load_pair("d2-gaussian-0.05-twosided")}) {
    const TrainingSet forward = training_set({}, pair, 50, 1);
    const TrainingSet reverse = training_set({}, pair.reversed(), 50, 1);
    EXPECT_EQ(reverse.x0, forward.x1);
    EXPECT_EQ(reverse.x1, forward.x0);
  }
}

// Rows of either end follow its law, and the rows of the two ends know nothing of each other: over
// all pairs of states the counts of (x0[r], x1[r]) are those of p0 p1.
TEST(TrainingSet, RowsFollowTheEndsAndAreUnpaired) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const testing::Wide joint = testing::dense_joint(pair);
  const std::size_t M = joint.rows(), n = 100000;
  std::vector<double> p0(M, 0.0), p1(M, 0.0), product(M * M), coupled(M * M);
  for (std::size_t i = 0; i < M; ++i) {
    for (std::size_t j = 0; j < M; ++j) {
      p0[i] += static_cast<double>(joint(i, j));
      p1[j] += static_cast<double>(joint(i, j));
      coupled[i * M + j] = static_cast<double>(joint(i, j));
    }
  }
  for (std::size_t i = 0; i < M * M; ++i) product[i] = p0[i / M] * p1[i % M];
  const TrainingSet set = training_set({}, pair, n, 0);
  const auto S = static_cast<std::size_t>(pair.num_categories());
  const auto place = [&](const std::int32_t* x) {
    return static_cast<std::size_t>(x[0]) * S + static_cast<std::size_t>(x[1]);
  };
  std::vector<std::size_t> of_x0(M), of_x1(M), of_both(M * M);
  for (std::size_t r = 0; r < n; ++r) {
    const std::size_t i = place(set.x0.row(r)), j = place(set.x1.row(r));
    ++of_x0[i];
    ++of_x1[j];
    ++of_both[i * M + j];
  }
  EXPECT_TRUE(testing::fits(of_x0, p0));
  EXPECT_TRUE(testing::fits(of_x1, p1));
  EXPECT_TRUE(testing::fits(of_both, product));
  EXPECT_FALSE(testing::fits(of_both, coupled));  // the test can tell them apart
}

TEST(TrainingSet, SharesDrawsWithNothingElse) {
  const BenchmarkPair pair = load_pair("d16-gaussian-0.02-spread");
  const TrainingSet set = training_set({}, pair, 40, 5), other = training_set({}, pair, 40, 6);
  EXPECT_NE(set.x0, other.x0);
  EXPECT_NE(set.x1, other.x1);
  for (const std::uint64_t seed : {std::uint64_t{5}, pair.identity().seed}) {
    EXPECT_NE(set.x0, pair.sample_x0({}, 40, seed));
    EXPECT_NE(set.x1, pair.sample_x1({}, 40, seed));
    EXPECT_NE(set.x1, pair.sample_joint({}, 40, seed).x1);
  }
  const PairedStates test = pair.test_set({});
  const TrainingSet of_test_seed = training_set({}, pair, 40, pair.identity().seed);
  EXPECT_NE(of_test_seed.x0, first_rows(test.x0, 40));
  EXPECT_NE(of_test_seed.x1, first_rows(test.x1, 40));
}

// Rows never change: published results name a set by its number alone.
TEST(TrainingSet, RowsOfPresetsAreFixed) {
  const auto fingerprint = [](const std::string& name, std::uint64_t index) {
    const TrainingSet set = training_set({}, load_pair(name), 500, index);
    Fingerprint both;
    both.add(std::span<const std::int32_t>(set.x0.data(), set.x0.size()));
    both.add(std::span<const std::int32_t>(set.x1.data(), set.x1.size()));
    return both.text();
  };
  EXPECT_EQ(fingerprint("d2-gaussian-0.02-spread", 0), "4d280ff39be51dfc");
  EXPECT_EQ(fingerprint("d16-uniform-0.01-chain", 2), "371073dfb6055294");
  EXPECT_EQ(fingerprint("d2-gaussian-0.05-twosided", 0), "ea5152f4bc6860f0");
}

TEST(TrainingSet, ProblemsAreTheRowsAndTheReferenceAlone) {
  const BenchmarkPair pair = build_pair(testing::nonsymmetric_spec()).reversed();
  const FitProblem problem = training_problem({}, pair, {30, 2});
  ASSERT_TRUE(problem.data());
  EXPECT_FALSE(problem.pair());
  const TrainingSet set = training_set({}, pair, 30, 2);
  EXPECT_EQ(problem.data()->x0.states(), set.x0);
  EXPECT_EQ(problem.data()->x1.states(), set.x1);
  EXPECT_EQ(problem.reference().log_power({}, 3), pair.reference().log_power({}, 3));
  EXPECT_EQ(problem.name(), "30 rows of training set 2 of nonsymmetric-reverse");
  EXPECT_TRUE(training_problem({}, pair, {}).pair());
}

TEST(TrainingSet, BadNumbersAreNamed) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const auto refusal = [&](const TrainingRows& rows) -> std::string {
    try {
      training_problem({}, pair, rows);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(refusal({kMaxTrainingRows + 1, 0}),
              HasSubstr("samples must be a whole number in 1..268435456, got 268435457"));
  EXPECT_THAT(refusal({0, 4}), HasSubstr("training_set 4 needs samples"));
  EXPECT_THROW(training_set({}, pair, 0), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
