#include "bridgemark/metric/c2st.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/one_hot_classifier.h"
#include "bridgemark/pair/pair_spec.h"
#include "tests/support/context.h"

namespace bridgemark {

class OneHotClassifierPeer {
 public:
  explicit OneHotClassifierPeer(OneHotClassifier& classifier) : classifier_(classifier) {}

  std::vector<AdamParameter*> parameters() {
    return {&classifier_.embedding_, &classifier_.slope_, &classifier_.bias1_,
            &classifier_.weight2_,   &classifier_.bias2_, &classifier_.weight3_,
            &classifier_.bias3_};
  }

  void refresh_tables() {
    for (std::size_t c = 0; c < classifier_.num_coordinates_; ++c) classifier_.refresh_table(c);
  }

 private:
  OneHotClassifier& classifier_;
};

namespace {

using testing::with_threads;

// Bounds of 4 standard errors raise a false alarm once in 16,000 draws; the seeds are fixed.
constexpr double kStandardErrors = 4.0;

// Rows [x0, x1] of 2 * dim coordinates: x0 uniform, x1 = x0 but for a uniform draw with
// probability `noise`.
States coupled_rows(std::uint64_t seed, std::size_t rows, std::size_t dim, int num_categories,
                    double noise) {
  std::mt19937_64 generator(seed);
  std::uniform_int_distribution<std::int32_t> category(0, num_categories - 1);
  std::bernoulli_distribution redraw(noise);
  States states(rows, 2 * dim);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t d = 0; d < dim; ++d) {
      states(i, d) = category(generator);
      states(i, dim + d) = redraw(generator) ? category(generator) : states(i, d);
    }
  }
  return states;
}

// Moves x1 to the next row: the marginals of x0 and of x1 stay, their dependence goes.
States shuffled_coupling(const States& states) {
  States result = states;
  const std::size_t dim = states.cols() / 2;
  for (std::size_t i = 0; i < states.rows(); ++i) {
    const std::int32_t* next = states.row((i + 1) % states.rows());
    std::copy(next + dim, next + 2 * dim, result.row(i) + dim);
  }
  return result;
}

// Enough for small examples, and quicker under the sanitizers.
C2stOptions small_options() {
  C2stOptions options;
  options.hidden = 32;
  options.learning_rate = 2e-3;
  return options;
}

double naive_auc(const std::vector<float>& positives, const std::vector<float>& negatives) {
  double wins = 0;
  for (const float p : positives) {
    for (const float n : negatives) wins += p > n ? 1.0 : p == n ? 0.5 : 0.0;
  }
  return wins / static_cast<double>(positives.size() * negatives.size());
}

TEST(Auc, AgreesWithCountingPairs) {
  std::mt19937_64 generator(1);
  for (const int levels : {1, 3, 1000}) {
    std::uniform_int_distribution<int> level(0, levels - 1);
    for (const std::size_t m : {1, 2, 57}) {
      std::vector<float> positives(m);
      std::vector<float> negatives(40);
      for (float& score : positives) score = static_cast<float>(level(generator));
      for (float& score : negatives) score = static_cast<float>(level(generator) - 1);
      EXPECT_NEAR(estimate_auc(positives, negatives).auc, naive_auc(positives, negatives), 1e-14);
    }
  }
}

TEST(Auc, StandardErrorMatchesTheSpreadOfRepeats) {
  std::mt19937_64 generator(2);
  std::normal_distribution<float> normal;
  const int repeats = 2000;
  for (const float shared_noise : {0.0f, 2.0f}) {
    double sum = 0, squares = 0, variance = 0, unpaired_variance = 0;
    for (int r = 0; r < repeats; ++r) {
      std::vector<float> positives(60);
      std::vector<float> negatives(60);
      for (std::size_t i = 0; i < 60; ++i) {
        const float shared = shared_noise * normal(generator);
        positives[i] = shared + normal(generator) + 0.5f;
        negatives[i] = shared + normal(generator);
      }
      const AucEstimate estimate = estimate_paired_auc(positives, negatives);
      sum += estimate.auc;
      squares += estimate.auc * estimate.auc;
      variance += estimate.standard_error * estimate.standard_error;
      const double unpaired = estimate_auc(positives, negatives).standard_error;
      unpaired_variance += unpaired * unpaired;
    }
    const double spread = squares / repeats - (sum / repeats) * (sum / repeats);
    // The relative standard error of a variance over 2000 repeats is about 0.03.
    EXPECT_NEAR(variance / repeats / spread, 1.0, 0.15);
    if (shared_noise == 0.0f) {
      EXPECT_NEAR(unpaired_variance / repeats / spread, 1.0, 0.15);
    }
    if (shared_noise > 0.0f) {
      EXPECT_GT(unpaired_variance / repeats / spread, 2.0);
    }
  }
}

TEST(Auc, EdgeCases) {
  const std::vector<float> low{0.0f, 1.0f};
  const std::vector<float> high{2.0f, 3.0f};
  EXPECT_EQ(estimate_auc(high, low).auc, 1.0);
  EXPECT_EQ(estimate_auc(low, high).auc, 0.0);
  EXPECT_EQ(estimate_auc(high, low).standard_error, 0.0);
  EXPECT_EQ(estimate_auc(low, low).auc, 0.5);
  EXPECT_TRUE(std::isnan(estimate_auc(low, std::vector<float>{0.0f}).standard_error));
  EXPECT_THROW(estimate_auc(low, {}), InvalidArgument);
  EXPECT_THROW(estimate_paired_auc(low, std::vector<float>{0.0f}), InvalidArgument);
}

double mean_cross_entropy(const OneHotClassifier& classifier, std::span<const LabelledRow> rows) {
  std::vector<float> logits(rows.size());
  classifier.predict(with_threads(1), rows, logits);
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double logit = logits[i];
    sum += rows[i].weight * (std::log1p(std::exp(logit)) - rows[i].label * logit);
  }
  return sum / static_cast<double>(rows.size());
}

TEST(OneHotClassifier, GradientsMatchFiniteDifferences) {
  const States states = coupled_rows(6, 9, 1, 4, 0.5);
  std::mt19937_64 generator(7);
  std::vector<LabelledRow> rows;
  for (std::size_t i = 0; i < states.rows(); ++i) {
    rows.push_back({states.row(i), static_cast<float>(i % 2), i % 2 == 0 ? 0.5f : 2.0f});
  }
  OneHotClassifier classifier(2, 4, rows, {5, 1e-3, 0.0, 8});
  // Parameters of order 1, so that no unit sits at the kink of its ReLU.
  OneHotClassifierPeer peer(classifier);
  std::normal_distribution<float> normal;
  for (AdamParameter* parameter : peer.parameters()) {
    for (float& value : parameter->value) value = normal(generator);
  }
  peer.refresh_tables();

  // After its first step Adam's first moment is (1 - beta1) times the gradient.
  OneHotClassifier stepped = classifier;
  stepped.train(with_threads(2), rows);
  const std::vector<AdamParameter*> moments = OneHotClassifierPeer(stepped).parameters();
  const float step = 1e-3f;
  double largest = 0;
  for (std::size_t p = 0; p < moments.size(); ++p) {
    std::vector<float>& values = peer.parameters()[p]->value;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float center = values[i];
      const auto loss_at = [&](float value) {
        values[i] = value;
        peer.refresh_tables();
        return mean_cross_entropy(classifier, rows);
      };
      const double difference =
          (loss_at(center + step) - loss_at(center - step)) / (2.0 * static_cast<double>(step));
      loss_at(center);
      const double gradient = moments[p]->first_moment[i] / 0.1;
      // A float32 logit of order 1 is good to 1e-7, its difference over 2e-3 to about 1e-4.
      EXPECT_NEAR(gradient, difference, 1e-3) << "parameter " << p << ", entry " << i;
      largest = std::max(largest, std::abs(gradient));
    }
  }
  EXPECT_GT(largest, 0.1);
}

// Also with more than one block of hidden units and of coordinates.
TEST(OneHotClassifier, LearnsRandomLabelsByHeart) {
  const States states = coupled_rows(3, 40, 3, 5, 1.0);
  std::mt19937_64 generator(4);
  std::vector<LabelledRow> rows;
  for (std::size_t i = 0; i < states.rows(); ++i) {
    rows.push_back({states.row(i), static_cast<float>(generator() % 2), 1.0f});
  }
  OneHotClassifier classifier(6, 5, rows, {33, 3e-3, 0.0, 5});
  for (int step = 0; step < 400; ++step) classifier.train(with_threads(2), rows);
  std::vector<float> logits(rows.size());
  classifier.predict(with_threads(2), rows, logits);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(logits[i] > 0.0f, rows[i].label > 0.5f) << "row " << i;
    EXPECT_GT(std::abs(logits[i]), 2.0f) << "row " << i;
  }
}

TEST(C2st, TruthAgainstTruthIsNearOneHalf) {
  const C2stResult result = c2st(with_threads(2), coupled_rows(10, 3000, 4, 10, 0.3),
                                 coupled_rows(11, 3000, 4, 10, 0.3), 10);
  EXPECT_NEAR(result.auc, 0.5, kStandardErrors * result.auc_standard_error);
  EXPECT_GT(result.auc_standard_error, 0.005);
  EXPECT_LT(result.auc_standard_error, 0.03);
  EXPECT_EQ(result.score, 1.0 - 2.0 * std::abs(result.auc - 0.5));
  EXPECT_EQ(result.test_size, 1200u);
  EXPECT_TRUE(result.converged);
}

// Rows i of equal sets fall in the same part: of a set against itself every real test row meets its
// copy, so the AUC is 1/2 and its paired standard error 0, both exactly. With 128 + 128 test rows a
// row and its copy also lie at the same place in their blocks, so no product rounds differently.
TEST(C2st, KeepsRowsThatShareAConditionTogether) {
  const States states = coupled_rows(12, 640, 3, 9, 0.5);
  const C2stResult result = c2st(with_threads(2), states, states, 9);
  EXPECT_EQ(result.auc, 0.5);
  EXPECT_EQ(result.auc_standard_error, 0.0);
}

TEST(C2st, FindsAnObviouslyWrongSampler) {
  const States real = coupled_rows(14, 2000, 8, 50, 0.0);
  States fake = coupled_rows(15, 2000, 8, 50, 0.0);
  for (std::size_t i = 0; i < fake.rows(); ++i) {
    for (std::size_t d = 8; d < 16; ++d) fake(i, d) /= 2;
  }
  const C2stResult result = c2st(with_threads(2), real, fake, 50, small_options());
  EXPECT_GT(result.auc, 0.95);
  EXPECT_LT(result.score, 0.1);
  EXPECT_LT(result.validation_loss, 0.3);
}

// All one-dimensional marginals agree; only the dependence of x1 on x0 tells the sets apart.
TEST(C2st, FindsALostDependence) {
  const States real = coupled_rows(16, 4000, 2, 5, 0.2);
  const C2stResult result =
      c2st(with_threads(2), real, shuffled_coupling(real), 5, small_options());
  EXPECT_GT(result.auc, 0.8);
}

TEST(C2st, ScoresSetsOfDifferentSize) {
  const States real = coupled_rows(17, 3000, 2, 5, 0.2);
  const States fake = coupled_rows(18, 1001, 2, 5, 0.2);
  const C2stResult equal = c2st(with_threads(2), real, fake, 5, small_options());
  EXPECT_NEAR(equal.auc, 0.5, kStandardErrors * equal.auc_standard_error);
  EXPECT_EQ(equal.test_size, 600u + 200u);
  const C2stResult different =
      c2st(with_threads(2), real, shuffled_coupling(fake), 5, small_options());
  EXPECT_GT(different.auc, 0.75);
}

TEST(C2st, DependsOnTheSeedButNotOnTheThreads) {
  const States real = coupled_rows(19, 501, 3, 7, 0.2);
  const States fake = shuffled_coupling(real);
  C2stOptions options;
  options.batch_size = 100;
  options.hidden = 70;
  options.max_epochs = 3;
  const C2stResult one = c2st(with_threads(1), real, fake, 7, options);
  for (const int threads : {2, 5}) {
    const C2stResult other = c2st(with_threads(threads), real, fake, 7, options);
    EXPECT_EQ(one.auc, other.auc);
    EXPECT_EQ(one.validation_loss, other.validation_loss);
    EXPECT_EQ(one.auc_standard_error, other.auc_standard_error);
  }
  EXPECT_EQ(one.epochs, 3);
  EXPECT_FALSE(one.converged);
  options.seed = 1;
  EXPECT_NE(c2st(with_threads(2), real, fake, 7, options).validation_loss, one.validation_loss);
}

TEST(C2st, AcceptsSmallAndConstantSets) {
  const States constant(5, 1, 0);
  const C2stResult result = c2st({}, constant, constant, 1);
  EXPECT_EQ(result.auc, 0.5);
  EXPECT_EQ(result.test_size, 2u);
  EXPECT_TRUE(std::isnan(result.auc_standard_error));
}

TEST(C2st, RefusesBadInput) {
  const States states = coupled_rows(20, 100, 1, 3, 0.5);
  const auto refuses = [&](auto&& change) {
    C2stOptions options;
    change(options);
    EXPECT_THROW(c2st({}, states, states, 3, options), InvalidArgument);
  };
  refuses([](C2stOptions& options) { options.hidden = 0; });
  refuses([](C2stOptions& options) { options.max_epochs = 0; });
  refuses([](C2stOptions& options) { options.batch_size = -1; });
  refuses([](C2stOptions& options) { options.patience = 0; });
  refuses([](C2stOptions& options) { options.learning_rate = 0.0; });
  refuses([](C2stOptions& options) { options.learning_rate = std::nan(""); });
  refuses([](C2stOptions& options) { options.weight_decay = -1.0; });
  refuses([](C2stOptions& options) { options.train_share = 0.8; });
  refuses([](C2stOptions& options) { options.validation_share = 0.0; });
  EXPECT_THROW(c2st({}, states, states, 2), InvalidArgument);
  EXPECT_THROW(c2st({}, states, States(100, 3), 3), InvalidArgument);
  EXPECT_THROW(c2st({}, states, States(2, 2), 3), InvalidArgument);
  EXPECT_THROW(c2st({}, States(0, 2), states, 3), InvalidArgument);
  EXPECT_THROW(c2st({}, States(9, 0), States(9, 0), 3), InvalidArgument);
  C2stOptions huge;
  huge.learning_rate = 1e30;
  EXPECT_THROW(c2st({}, states, states, 3, huge), Error);
}

// (x0, x1) drawn forwards against x0 drawn backwards from the same x1, in 64 dimensions.
TEST(C2st, CannotTellTheTruthsTwoDirectionsApart) {
  constexpr std::size_t kRows = 4000;
  const BenchmarkPair pair = load_pair("d64-gaussian-0.02-spread");
  const PairedStates forward = pair.sample_joint({}, kRows, 8);
  const States back = pair.reversed().sample_conditional({}, forward.x1, 9);
  const States other = pair.sample_x0({}, kRows, 10);
  const auto joined = [&](const States& x0) {
    States rows(kRows, 2 * pair.dim());
    for (std::size_t i = 0; i < kRows; ++i) {
      std::copy_n(x0.row(i), pair.dim(), rows.row(i));
      std::copy_n(forward.x1.row(i), pair.dim(), rows.row(i) + pair.dim());
    }
    return rows;
  };
  const States real = joined(forward.x0);
  const C2stResult same = c2st({}, real, joined(back), pair.num_categories());
  EXPECT_NEAR(same.auc, 0.5, 4.0 * same.auc_standard_error);
  EXPECT_GT(c2st({}, real, joined(other), pair.num_categories()).auc, 0.6);  // it can tell
}

}  // namespace
}  // namespace bridgemark
