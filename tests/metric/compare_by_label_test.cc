#include "bridgemark/metric/own_data/compare_by_label.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/held_out_objective.h"
#include "bridgemark/metric/own_data/comparison_json.h"
#include "bridgemark/metric/own_data/comparison_text.h"
#include "tests/io/io_testing.h"
#include "tests/metric/particle_testing.h"

namespace bridgemark {
namespace {

using testing::small_spec;

// The seeds are fixed; five standard errors fail one right estimate in 1.7 million.
constexpr double kLabelErrors = 5.0;
constexpr testing::Tolerance kSummed{1e-12, 1e-12};

// Label 3 is one pair of 6^6 states, label 8 another over the same reference; half as many rows of
// label 8.
class CompareByLabel : public ::testing::Test {
 protected:
  static BenchmarkPair pair(std::uint64_t seed) {
    PairSpec spec = small_spec();
    spec.dim = 6;
    spec.seed = seed;
    return build_pair(spec);
  }

  CompareByLabel() {
    append(x0_, labels0_, first_.sample_x0({}, 200, 1), 3);
    append(x0_, labels0_, second_.sample_x0({}, 100, 2), 8);
    append(x1_, labels1_, second_.sample_x1({}, 90, 3), 8);
    append(x1_, labels1_, first_.sample_x1({}, 210, 4), 3);
  }

  static void append(States& rows, Labels& labels, const States& more, Label label) {
    std::vector<std::int32_t> values(rows.data(), rows.data() + rows.size());
    values.insert(values.end(), more.data(), more.data() + more.size());
    rows = States(rows.rows() + more.rows(), more.cols(), std::move(values));
    labels.insert(labels.end(), more.rows(), label);
  }

  DataContestant contestant(const char* name, const BenchmarkPair& answers) const {
    return {.name = name,
            .coupling = std::make_shared<CpBridge>(answers.cp_bridge()),
            .reference = answers.reference(),
            .training_x0 = answers.sample_x0({}, 200, 11),
            .training_x1 = answers.sample_x1({}, 200, 12)};
  }

  // The truth of each label beside that of label 3 for all.
  std::vector<DataContestant> contestants(Label label) const {
    DataContestant one_for_all = contestant("one", first_);
    one_for_all.rows_have_all_labels = true;
    return {contestant("truth", label == 3 ? first_ : second_), one_for_all};
  }

  DataComparison compare(std::uint64_t seed = 0) const {
    return compare_by_label({}, {x0_, x1_, labels0_, labels1_},
                            [&](Label label, std::size_t) { return contestants(label); }, {seed});
  }

  BenchmarkPair first_ = pair(4), second_ = pair(5);
  States x0_, x1_;
  Labels labels0_, labels1_;
};

TEST_F(CompareByLabel, IsTheMeanOfTheComparisonsOfLabels) {
  const DataComparison found = compare();
  ASSERT_EQ(found.labels.size(), 2u);
  const DataComparison &a = found.labels[0].comparison, &b = found.labels[1].comparison;
  EXPECT_EQ(found.labels[1].label, 8);
  EXPECT_EQ(b.x0_rows, 100u);
  EXPECT_EQ(b.x1_rows, 90u);
  EXPECT_NE(a.seed, b.seed);
  const std::vector<DataContestant> of_b = contestants(8);
  const DataComparison again =
      compare_on({}, x0_.view().slice(200, 100), x1_.view().slice(0, 90), of_b, {b.seed});
  EXPECT_EQ(comparison_json(again), comparison_json(b));
  for (const DataScore& mean : found.contestants[0].scores) {
    if (!mean.missing.empty()) continue;
    const DataScore &left = a.contestants[0].score(mean.name),
                    &right = b.contestants[0].score(mean.name);
    EXPECT_TRUE(testing::is_near(mean.value.mean, (2.0 * left.value.mean + right.value.mean) / 3.0,
                                 kSummed))
        << mean.name;
    if (std::isnan(left.value.standard_error)) continue;
    EXPECT_TRUE(testing::is_near(
        mean.value.standard_error,
        std::hypot(2.0 * left.value.standard_error, right.value.standard_error) / 3.0, kSummed))
        << mean.name;
  }
  const States& draws = found.contestants[0].draws;
  for (std::size_t i = 0; i < 300; ++i) {
    const States& own = (i < 200 ? a : b).contestants[0].draws;
    ASSERT_TRUE(std::equal(draws.row(i), draws.row(i) + 6, own.row(i < 200 ? i : i - 200))) << i;
  }
}

// A bridge that knows labels beats the one of label 3, on the rows of label 8 alone.
TEST_F(CompareByLabel, SeesWhoKnowsLabels) {
  const DataComparison found = compare();
  ASSERT_EQ(found.differences.size(), 1u);
  EXPECT_TRUE(found.differences[0].told_apart());
  EXPECT_GT(found.differences[0].difference.mean, 0.0);
  EXPECT_EQ(found.labels[0].comparison.differences[0].difference.mean, 0.0);
  const double of_b = found.labels[1].comparison.differences[0].difference.mean;
  EXPECT_NEAR(found.differences[0].difference.mean, of_b / 3.0, 1e-12);
  EXPECT_THAT(difference_text(found.differences[0]),
              ::testing::StartsWith("truth is nearer to the bridge than one by "));
  // The training rows of one label are a ceiling for it, those of all labels are not.
  const DataScore &truth = found.contestants[0].score(kDataShape),
                  &one = found.contestants[1].score(kDataShape);
  ASSERT_TRUE(truth.beside);
  EXPECT_LT(std::abs(truth.value.mean - truth.beside->mean),
            kLabelErrors * std::hypot(truth.value.standard_error, truth.beside->standard_error));
  EXPECT_FALSE(one.beside);
  EXPECT_LT(one.value.mean, truth.value.mean);
  EXPECT_EQ(found.contestants[0].training_x0_rows, 400u);  // of both labels
  EXPECT_EQ(found.contestants[1].training_x0_rows, 200u);  // the same for both
  ASSERT_TRUE(found.contestants[1].x1_overlap);
  EXPECT_EQ(found.contestants[1].x1_overlap->rows, 300u);
}

TEST_F(CompareByLabel, SaysSoInTextAndJson) {
  const DataComparison found = compare(3);
  const std::string text = comparison_text(found);
  EXPECT_THAT(text, ::testing::HasSubstr("of 2 labels, each by itself: numbers are means"));
  EXPECT_THAT(text,
              ::testing::HasSubstr("Label by label.\n  label 3, 200 rows of x0 and 210 of x1"));
  const nlohmann::json json = comparison_json(found);
  ASSERT_EQ(json.at("labels").size(), 2u);
  EXPECT_EQ(json["labels"][1]["label"], 8);
  EXPECT_EQ(json["labels"][1]["runs"].size(), 2u);
  EXPECT_FALSE(json["labels"][1].contains("meanings"));
  EXPECT_EQ(comparison_json(compare(3)), json);
  EXPECT_FALSE(comparison_json(found.labels[0].comparison).contains("labels"));
}

TEST_F(CompareByLabel, RefusesLabelsOfOneEnd) {
  const auto refused = [&](const Labels& labels0, const Labels& labels1) {
    return testing::error_of<InvalidArgument>([&] {
      compare_by_label({}, {x0_, x1_, labels0, labels1},
                       [&](Label label, std::size_t) { return contestants(label); });
    });
  };
  EXPECT_THAT(refused(Labels(300, 3), labels1_),
              ::testing::HasSubstr("got 8 of x1 and no row of x0"));
  EXPECT_THAT(refused(labels0_, Labels(7, 3)),
              ::testing::HasSubstr(
                  "the condition of x1 must have a label for each of the 300 rows of x1, got 7"));
}

}  // namespace
}  // namespace bridgemark
