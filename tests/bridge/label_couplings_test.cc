#include "bridgemark/bridge/label_couplings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "tests/io/io_testing.h"
#include "tests/support/chi_square.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::DenseOracle;
using testing::error_of;
using ::testing::HasSubstr;
using testing::near;
using testing::Wide;

constexpr testing::Tolerance kEnumerated{1e-10, 1e-12};
constexpr int kLabelSteps = 8;
constexpr std::size_t kLabelDim = 2, kLabelCategories = 3, kLabelComponents = 4;
const Labels kLabels = {-3, 0, 7};

// A CP potential over states with a label: v(l, x) = sum_k beta_k a_k[l] prod_d r_k^d[x^d].
struct LabelledPotential {
  std::vector<double> log_beta;
  Matrix<double> log_label_core;  // a, [labels,K]
  Array3<double> log_cores;

  std::vector<double> weights(std::size_t label) const {
    std::vector<double> log_weights = log_beta;
    for (std::size_t k = 0; k < kLabelComponents; ++k) log_weights[k] += log_label_core(label, k);
    return log_weights;
  }
};

class LabelCouplingsTest : public ::testing::Test {
 protected:
  LabelCouplingsTest() {
    std::mt19937_64 generator(3);
    const auto draw = [&] { return 4.0 * testing::unit(generator) - 2.0; };
    potential_.log_beta.resize(kLabelComponents);
    potential_.log_label_core = Matrix<double>(kLabels.size(), kLabelComponents);
    potential_.log_cores = Array3<double>(kLabelDim, kLabelCategories, kLabelComponents);
    for (double& value : potential_.log_beta) value = draw();
    for (std::size_t i = 0; i < potential_.log_label_core.size(); ++i) {
      potential_.log_label_core.data()[i] = draw();
    }
    for (std::size_t i = 0; i < potential_.log_cores.size(); ++i) {
      potential_.log_cores.data()[i] = draw();
    }
  }

  // Cores are shared by all labels; their weights are the label's own.
  LabelCouplings couplings() const {
    std::vector<LabelCoupling> couplings;
    for (std::size_t i = 0; i < kLabels.size(); ++i) {
      couplings.push_back(
          {kLabels[i],
           std::make_shared<CpBridge>(ReferenceProcess::from_matrix(step_, kLabelSteps),
                                      CpPotential(potential_.weights(i), potential_.log_cores))});
    }
    return LabelCouplings(std::move(couplings));
  }

  // The bridge over all states (l, x) by enumeration: the reference is the identity on labels times
  // its own law on x. [labels * M, labels * M], label by label.
  Wide extended_conditional() const {
    const DenseOracle any_label(testing::widen(step_), kLabelSteps, potential_.log_beta,
                                potential_.log_cores);
    const Wide reference = any_label.reference(kLabelSteps);
    const States& states = any_label.states();
    const std::size_t M = states.rows(), L = kLabels.size();
    Wide joint(L * M, L * M, 0.0L);
    for (std::size_t l = 0; l < L; ++l) {
      for (std::size_t x = 0; x < M; ++x) {
        long double total = 0.0L;
        for (std::size_t y = 0; y < M; ++y) {
          long double v = 0.0L;
          for (std::size_t k = 0; k < kLabelComponents; ++k) {
            long double term = std::exp(static_cast<long double>(potential_.log_beta[k]) +
                                        potential_.log_label_core(l, k));
            for (std::size_t d = 0; d < kLabelDim; ++d) {
              const auto s = static_cast<std::size_t>(states(y, d));
              term *= std::exp(static_cast<long double>(potential_.log_cores(d, s, k)));
            }
            v += term;
          }
          joint(l * M + x, l * M + y) = v * reference(x, y);
          total += joint(l * M + x, l * M + y);
        }
        for (std::size_t y = 0; y < M; ++y) joint(l * M + x, l * M + y) /= total;
      }
    }
    return joint;
  }

  Matrix<double> step_ = testing::random_stochastic(kLabelCategories, 0.7, 5);
  States states_ = testing::all_states(kLabelDim, static_cast<int>(kLabelCategories));
  LabelledPotential potential_;
};

// A coordinate that never moves makes one bridge a label, with the cores of all and weights of its
// own.
TEST_F(LabelCouplingsTest, AreTheBridgeOverStatesWithALabelThatStays) {
  const LabelCouplings by_label = couplings();
  const Wide expected = extended_conditional();
  const std::size_t M = states_.rows();
  Labels labels;  // mixed, so that rows must find their way back
  std::vector<std::size_t> from, to;
  for (std::size_t x = 0; x < M; ++x) {
    for (std::size_t l = 0; l < kLabels.size(); ++l) {
      for (std::size_t y = 0; y < M; ++y) {
        labels.push_back(kLabels[l]);
        from.push_back(x);
        to.push_back(y);
      }
    }
  }
  const std::vector<double> log_q =
      by_label.log_conditional({}, take_rows(states_, from), take_rows(states_, to), labels);
  for (std::size_t i = 0; i < log_q.size(); ++i) {
    const std::size_t l = (i / M) % kLabels.size();
    const auto wanted = static_cast<double>(expected(l * M + from[i], l * M + to[i]));
    ASSERT_TRUE(near(std::exp(log_q[i]), wanted, kEnumerated)) << i;
  }
}

TEST_F(LabelCouplingsTest, DrawsHaveTheLawOfTheirLabel) {
  const LabelCouplings by_label = couplings();
  const Wide expected = extended_conditional();
  const std::size_t M = states_.rows(), rows = 6000, start = 4;
  Labels labels(rows);
  for (std::size_t i = 0; i < rows; ++i) labels[i] = kLabels[i % kLabels.size()];
  const States x0 = take_rows(states_, std::vector<std::size_t>(rows, start));
  const States x1 = by_label.sample({}, x0, labels, 9);
  const Array3<std::int32_t> paths = by_label.sample_trajectory({}, 4, x0, labels, 9);
  ASSERT_EQ(paths.extent(1), 5);
  for (std::size_t l = 0; l < kLabels.size(); ++l) {
    std::vector<std::size_t> counts(M), ends(M);
    std::vector<double> law(M);
    for (std::size_t i = l; i < rows; i += kLabels.size()) {
      ++counts[testing::state_index(x1.row(i), kLabelDim, kLabelCategories)];
      ++ends[testing::state_index(paths.row(i, 4), kLabelDim, kLabelCategories)];
      EXPECT_EQ(testing::state_index(paths.row(i, 0), kLabelDim, kLabelCategories), start);
    }
    for (std::size_t y = 0; y < M; ++y) {
      law[y] = static_cast<double>(expected(l * M + start, l * M + y));
    }
    EXPECT_TRUE(testing::fits(counts, law)) << "label " << kLabels[l];
    EXPECT_TRUE(testing::fits(ends, law)) << "label " << kLabels[l];
  }
}

// Rows of two labels with one law must not share draws.
TEST_F(LabelCouplingsTest, RowsOfTwoLabelsDrawApart) {
  const auto same =
      std::make_shared<CpBridge>(ReferenceProcess::from_matrix(step_, kLabelSteps),
                                 CpPotential(potential_.weights(0), potential_.log_cores));
  const LabelCouplings by_label({{1, same}, {2, same}});
  const std::size_t half = 300;
  Labels labels(2 * half, 1);
  std::fill(labels.begin() + half, labels.end(), 2);
  const States x0 = take_rows(states_, std::vector<std::size_t>(2 * half, 0));
  const States x1 = by_label.sample({}, x0, labels, 1);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < half; ++i) {
    equal += std::equal(x1.row(i), x1.row(i) + kLabelDim, x1.row(i + half));
  }
  EXPECT_LT(equal, half);
  States plain(2 * half, kLabelDim);
  same->sample({}, x0, {1, DrawPurpose::kConditional}, 0, plain);
  EXPECT_EQ(x1, plain);  // by the place among all rows
}

TEST_F(LabelCouplingsTest, RefuseOtherLabelsAndSizes) {
  const LabelCouplings by_label = couplings();
  const auto sample = [&](StatesView x0, const Labels& labels) {
    return error_of<InvalidArgument>([&] { by_label.sample({}, x0, labels, 0); });
  };
  EXPECT_THAT(sample(states_.view().slice(0, 2), {0, 8}),
              HasSubstr("label must be one that was trained, -3, 0, 7, got 8"));
  EXPECT_THAT(sample(states_, {0}),
              HasSubstr("the condition must have a label for each of the 9 rows of x0, got 1"));
  EXPECT_THAT(sample(States(1, 2, 3), {0}), HasSubstr("x0 must hold categories 0..2, got 3"));
  EXPECT_THAT(error_of<InvalidArgument>([] { LabelCouplings({}); }), HasSubstr("got none"));
  const auto one = by_label.couplings()[0].coupling;
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                LabelCouplings({{2, one}, {2, one}});
              }),
              HasSubstr("labels must ascend, got 2 after 2"));
  EXPECT_EQ(by_label.sample({}, States(0, 2), {}, 0).rows(), 0u);
}

}  // namespace
}  // namespace bridgemark
