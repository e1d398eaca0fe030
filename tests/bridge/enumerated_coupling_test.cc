#include "bridgemark/bridge/enumerated_coupling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "tests/support/chi_square.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/small_pair.h"

namespace bridgemark {
namespace {

constexpr std::size_t kDim = 2;
constexpr int kCategories = 3;
constexpr std::size_t kStates = 9;

// Random weights; state 4 never occurs as x0 and state 2 never follows state 1.
Matrix<double> example_joint() {
  std::mt19937_64 generator(1);
  Matrix<double> log_joint(kStates, kStates);
  for (std::size_t i = 0; i < log_joint.size(); ++i) {
    log_joint.data()[i] = 4.0 * testing::unit(generator);
  }
  for (std::size_t j = 0; j < kStates; ++j) log_joint(4, j) = kLogZero;
  log_joint(1, 2) = kLogZero;
  return log_joint;
}

std::vector<double> expected_row(const Matrix<double>& log_joint, std::size_t row) {
  std::vector<double> p(kStates);
  double sum = 0.0;
  for (std::size_t j = 0; j < kStates; ++j) sum += p[j] = std::exp(log_joint(row, j));
  for (double& value : p) value /= sum;
  return p;
}

TEST(EnumeratedCoupling, ListsStatesInOrder) {
  const States states = EnumeratedCoupling::all_states(kDim, kCategories);
  EXPECT_EQ(states, testing::all_states(kDim, kCategories));
  EXPECT_EQ(states(1, 1), 1);  // the last coordinate runs fastest
  EXPECT_EQ(states(3, 0), 1);
}

TEST(EnumeratedCoupling, KnowsItsLimit) {
  EXPECT_TRUE(EnumeratedCoupling::can_enumerate(2, 50));
  EXPECT_TRUE(EnumeratedCoupling::can_enumerate(2, 64));
  EXPECT_FALSE(EnumeratedCoupling::can_enumerate(2, 65));
  EXPECT_TRUE(EnumeratedCoupling::can_enumerate(12, 2));
  EXPECT_FALSE(EnumeratedCoupling::can_enumerate(13, 2));
  EXPECT_FALSE(EnumeratedCoupling::can_enumerate(1000000, 50));  // and no overflow
  EXPECT_THROW(EnumeratedCoupling::all_states(13, 2), InvalidArgument);
}

TEST(EnumeratedCoupling, ConditionalAndMarginals) {
  const Matrix<double> log_joint = example_joint();
  const EnumeratedCoupling coupling(kDim, kCategories, log_joint);
  const States states = testing::all_states(kDim, kCategories);
  const testing::StatePairs pairs = testing::all_pairs(states);
  std::vector<double> log_q(kStates * kStates);
  coupling.log_conditional({}, pairs.from, pairs.to, log_q);
  Array3<double> marginals;
  coupling.log_marginals({}, states, marginals);
  for (std::size_t i = 0; i < kStates; ++i) {
    // A state that cannot occur is answered uniformly.
    const std::vector<double> p =
        i == 4 ? std::vector<double>(kStates, 1.0 / kStates) : expected_row(log_joint, i);
    double expected[kDim][kCategories] = {};
    for (std::size_t j = 0; j < kStates; ++j) {
      EXPECT_NEAR(std::exp(log_q[i * kStates + j]), p[j], 1e-14);
      for (std::size_t d = 0; d < kDim; ++d) expected[d][states(j, d)] += p[j];
    }
    for (std::size_t d = 0; d < kDim; ++d) {
      for (std::size_t s = 0; s < kCategories; ++s) {
        EXPECT_NEAR(std::exp(marginals(i, d, s)), expected[d][s], 1e-14);
      }
    }
  }
  EXPECT_EQ(log_q[1 * kStates + 2], kLogZero);
}

TEST(EnumeratedCoupling, IgnoresAConstant) {
  Matrix<double> shifted = example_joint();
  for (std::size_t i = 0; i < shifted.size(); ++i) shifted.data()[i] -= 2000.0;
  const EnumeratedCoupling a(kDim, kCategories, example_joint()), b(kDim, kCategories, shifted);
  const testing::StatePairs pairs = testing::all_pairs(testing::all_states(kDim, kCategories));
  std::vector<double> log_a(kStates * kStates), log_b(log_a.size());
  a.log_conditional({}, pairs.from, pairs.to, log_a);
  b.log_conditional({}, pairs.from, pairs.to, log_b);
  for (std::size_t i = 0; i < log_a.size(); ++i) {
    EXPECT_NEAR(std::exp(log_a[i]), std::exp(log_b[i]), 1e-12);
  }
}

TEST(EnumeratedCoupling, SamplesTheConditional) {
  const Matrix<double> log_joint = example_joint();
  const EnumeratedCoupling coupling(kDim, kCategories, log_joint);
  const States states = testing::all_states(kDim, kCategories);
  const std::size_t rows = 30000;
  for (const std::size_t from : {0u, 1u, 8u}) {
    States drawn(rows, kDim);
    coupling.sample({}, testing::repeat_row(states, from, rows), {from, DrawPurpose::kConditional},
                    0, drawn);
    std::vector<std::size_t> counts(kStates, 0);
    for (std::size_t i = 0; i < rows; ++i) {
      ++counts[testing::state_index(drawn.row(i), kDim, kCategories)];
    }
    EXPECT_TRUE(testing::fits(counts, expected_row(log_joint, from))) << "from " << from;
  }
}

TEST(EnumeratedCoupling, DrawsDependOnTheIndexAlone) {
  const EnumeratedCoupling coupling(kDim, kCategories, example_joint());
  States x0(2000, kDim);
  for (std::size_t i = 0; i < x0.size(); ++i) x0.data()[i] = static_cast<std::int32_t>(i % 3);
  const DrawKey key{5, DrawPurpose::kPrediction};
  States whole(2000, kDim), part(700, kDim);
  coupling.sample(testing::with_threads(1), x0, key, 0, whole);
  for (const int threads : {2, 5}) {
    States other(2000, kDim);
    coupling.sample(testing::with_threads(threads), x0, key, 0, other);
    EXPECT_EQ(whole, other);
  }
  coupling.sample({}, x0.view().slice(1300, 700), key, 1300, part);
  EXPECT_TRUE(std::equal(part.data(), part.data() + part.size(), whole.row(1300)));
}

TEST(EnumeratedCoupling, RefusesBadInput) {
  EXPECT_THROW(EnumeratedCoupling(2, 3, Matrix<double>(9, 8, 0.0)), InvalidArgument);
  EXPECT_THROW(EnumeratedCoupling(2, 65, Matrix<double>(1, 1, 0.0)), InvalidArgument);
  const EnumeratedCoupling coupling(kDim, kCategories, example_joint());
  States x1(1, kDim);
  EXPECT_THROW(coupling.sample({}, States(1, kDim, 3), {}, 0, x1), InvalidArgument);
  EXPECT_THROW(coupling.sample({}, States(1, 3, 0), {}, 0, x1), InvalidArgument);
  EXPECT_FALSE(coupling.has_transitions(1));
}

}  // namespace
}  // namespace bridgemark
