#include "bridgemark/metric/own_data/compare_on.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/own_data/comparison_json.h"
#include "bridgemark/metric/own_data/comparison_text.h"
#include "bridgemark/metric/own_data/swapped_ends.h"
#include "tests/metric/particle_testing.h"

namespace bridgemark {
namespace {

using testing::random_potential;
using testing::small_spec;

// The seeds are fixed; five standard errors fail one right estimate in 1.7 million.
constexpr double kDataErrors = 5.0;

// Answers with rows of a set, whatever x0 is.
class Repeats : public Coupling {
 public:
  Repeats(States rows, int num_categories)
      : rows_(std::move(rows)), num_categories_(num_categories) {}
  std::size_t dim() const override { return rows_.cols(); }
  int num_categories() const override { return num_categories_; }
  void sample(const Context&, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override {
    for (std::size_t i = 0; i < x0.rows; ++i) {
      const double uniform = draw_uniform(key, first_index + i, 0);
      const auto row = static_cast<std::size_t>(uniform * static_cast<double>(rows_.rows()));
      std::copy_n(rows_.row(row), rows_.cols(), x1.row(i));
    }
  }

 private:
  States rows_;
  int num_categories_;
};

// A pair of 6^6 states, so that few rows come twice, with rows to train on and rows held out.
class CompareOn : public ::testing::Test {
 protected:
  static PairSpec spec() {
    PairSpec spec = small_spec();
    spec.dim = 6;
    return spec;
  }

  DataContestant contestant(std::string name, std::shared_ptr<const Coupling> coupling) const {
    return {.name = std::move(name),
            .coupling = std::move(coupling),
            .reference = pair_.reference(),
            .training_x0 = train_x0_,
            .training_x1 = train_x1_};
  }
  DataContestant truth(std::string name = "truth") const {
    return contestant(std::move(name), std::make_shared<CpBridge>(pair_.cp_bridge()));
  }
  DataContestant reference() const {
    return contestant("reference",
                      std::make_shared<CpBridge>(pair_.reference(),
                                                 CpPotential({0.0}, Array3<double>(6, 6, 1, 0.0))));
  }
  DataComparison compare(const std::vector<DataContestant>& contestants,
                         const Context& context = {}, std::uint64_t seed = 0) const {
    return compare_on(context, x0_, x1_, contestants, {seed});
  }

  BenchmarkPair pair_ = build_pair(spec());
  States train_x0_ = pair_.sample_x0({}, 300, 1), train_x1_ = pair_.sample_x1({}, 300, 2);
  States x0_ = pair_.sample_x0({}, 160, 3), x1_ = pair_.sample_x1({}, 180, 4);
};

double gap_in_errors(const DataScore& score) {
  return std::abs(score.value.mean - score.beside->mean) /
         std::hypot(score.value.standard_error, score.beside->standard_error);
}

TEST_F(CompareOn, AnExactSamplerReachesItsCeilings) {
  const DataComparison found = compare({truth()});
  EXPECT_EQ(found.compared_rows, 160u);
  const ContestantScores& scores = found.contestants[0];
  for (const char* name : {kDataShape, kDataTrend, kDataTrendOffdiagonal, kDataC2stAuc, kCopies,
                           kNearestChanged, kNearestMoved}) {
    EXPECT_LT(gap_in_errors(scores.score(name)), kDataErrors) << name;
    EXPECT_GT(scores.score(name).value.standard_error, 0.0) << name;
  }
  const DataScore& auc = scores.score(kDataC2stAuc);
  EXPECT_LT(std::abs(auc.value.mean - 0.5), kDataErrors * auc.value.standard_error);
  EXPECT_TRUE(found.warnings.empty());
  EXPECT_TRUE(found.differences.empty());
}

// What draws from another law does not reach them.
TEST_F(CompareOn, TheReferenceAloneIsSeenByItsDraws) {
  const DataComparison found = compare({truth(), reference()});
  const ContestantScores &good = found.contestants[0], &bad = found.contestants[1];
  for (const char* name : {kDataShape, kDataTrend}) {
    EXPECT_GT(gap_in_errors(bad.score(name)), kDataErrors) << name;
  }
  const MeanEstimate auc = bad.score(kDataC2stAuc).value;
  EXPECT_GT(auc.mean, 0.5 + kDataErrors * auc.standard_error);
  // It pays nothing against itself, and its objective is 0: v = c = 1.
  EXPECT_NEAR(bad.score(kReferenceKl).value.mean, 0.0, 1e-12);
  EXPECT_NEAR(bad.score(kHeldOutObjective).value.mean, 0.0, 1e-12);
  EXPECT_GT(good.score(kReferenceKl).value.mean, 1.0);
  ASSERT_EQ(found.differences.size(), 1u);
  EXPECT_TRUE(found.differences[0].told_apart());
  EXPECT_THAT(difference_text(found.differences[0]),
              ::testing::StartsWith("truth is nearer to the bridge than reference by "));
  EXPECT_NEAR(found.differences[0].difference.mean, good.score(kHeldOutObjective).value.mean,
              1e-12);
}

TEST_F(CompareOn, AMemoriserIsShown) {
  const DataComparison found =
      compare({contestant("parrot", std::make_shared<Repeats>(train_x1_, 6)), truth()});
  const ContestantScores &parrot = found.contestants[0], &honest = found.contestants[1];
  EXPECT_EQ(parrot.score(kCopies).value.mean, 1.0);
  EXPECT_LT(parrot.score(kCopies).beside->mean, 0.5);
  EXPECT_EQ(parrot.score(kNearestChanged).value.mean, 0.0);
  EXPECT_EQ(parrot.score(kNearestMoved).value.mean, 0.0);
  EXPECT_GT(parrot.score(kNearestChanged).beside->mean, 0.5);
  EXPECT_GT(honest.score(kNearestChanged).value.mean, 0.5);
  // Its marginals alone look right.
  EXPECT_LT(gap_in_errors(parrot.score(kDataShape)), kDataErrors);
  EXPECT_EQ(parrot.score(kHeldOutObjective).missing, "it is no bridge: it has no potential v");
}

TEST_F(CompareOn, OtherReferencesHaveNoDifference) {
  DataContestant other = truth("other");
  const auto process = ReferenceProcess::gaussian(6, 0.3, 16);
  other.coupling = std::make_shared<CpBridge>(process, pair_.cp_bridge().potential());
  other.reference = process;
  const DataComparison found = compare({truth(), other});
  ASSERT_EQ(found.differences.size(), 1u);
  EXPECT_TRUE(std::isnan(found.differences[0].difference.mean));
  EXPECT_FALSE(found.differences[0].told_apart());
  EXPECT_EQ(
      found.differences[0].missing,
      "their references differ, gaussian with gamma 0.25 and 16 steps and gaussian with gamma "
      "0.3 and 16 steps, so their objectives do not compare");
}

TEST_F(CompareOn, RowsOfTheTrainingAreWarnedAbout) {
  DataContestant spoiled = truth();
  spoiled.training_x0 = x0_;
  std::copy_n(x1_.data(), 6 * 170, spoiled.training_x1.data());
  const DataComparison found = compare({spoiled});
  ASSERT_EQ(found.warnings.size(), 2u);
  EXPECT_THAT(found.warnings[0],
              ::testing::StartsWith("truth: the rows of x0 are the very rows it was trained on; "));
  EXPECT_THAT(found.warnings[0], ::testing::HasSubstr("optimistic"));
  EXPECT_THAT(found.warnings[1], ::testing::HasSubstr(" of 180 rows of x1 ("));
}

// Without rows there is no ceiling; with fresh draws in their place no memory.
TEST_F(CompareOn, EndsInTheWrongOrderAreWarnedAbout) {
  EXPECT_FALSE(ends_look_swapped({}, x0_, x1_, train_x0_, train_x1_, 6));
  EXPECT_TRUE(ends_look_swapped({}, x1_, x0_, train_x0_, train_x1_, 6));
  // One end alone is no sign of it, and neither are equal laws or a row a side.
  EXPECT_FALSE(ends_look_swapped({}, x1_, x1_, train_x0_, train_x1_, 6));
  EXPECT_FALSE(ends_look_swapped({}, x0_, train_x0_, train_x1_, train_x1_, 6));
  EXPECT_FALSE(ends_look_swapped({}, x1_.view().slice(0, 1), x0_.view().slice(0, 1),
                                 train_x0_.view().slice(0, 1), train_x1_.view().slice(0, 1), 6));
  const std::vector<DataContestant> contestants = {truth()};
  const DataComparison swapped = compare_on({}, x1_, x0_, contestants);
  ASSERT_EQ(swapped.warnings.size(), 1u);
  EXPECT_THAT(swapped.warnings[0],
              ::testing::StartsWith("truth: the rows of x0 look like the x1 it was trained on"));
}

TEST_F(CompareOn, TrainingsWithoutRows) {
  DataContestant unknown = truth("unknown"), endless = truth("endless");
  unknown.training_x0 = unknown.training_x1 = {};
  endless.trained_on_endless_draws = true;
  const DataComparison found = compare({unknown, endless});
  const ContestantScores &first = found.contestants[0], &second = found.contestants[1];
  EXPECT_FALSE(first.score(kDataShape).beside || first.x0_overlap);
  EXPECT_EQ(first.score(kCopies).missing, "its training rows are not known");
  EXPECT_TRUE(second.score(kDataShape).beside && !second.x0_overlap);
  EXPECT_THAT(second.score(kCopies).missing, ::testing::HasSubstr("endless draws"));
}

TEST_F(CompareOn, CyclesSeeAWrongWayBack) {
  DataContestant right = truth("right"), wrong = truth("wrong");
  right.reverse = pair_.reversed().require_truth({});
  wrong.reverse = std::make_shared<Repeats>(States(1, 6, 0), 6);
  const DataComparison found = compare({right, wrong, truth()});
  const ContestantScores &good = found.contestants[0], &bad = found.contestants[1];
  for (const char* name : {kCycleShape, kCycleTrend}) {
    EXPECT_LT(gap_in_errors(good.score(name)), kDataErrors) << name;
    EXPECT_GT(gap_in_errors(bad.score(name)), kDataErrors) << name;
  }
  const DataScore& changed = good.score(kCycleChanged);
  EXPECT_LT(changed.value.mean, changed.beside->mean);  // the bridge keeps something of x0
  EXPECT_EQ(found.contestants[2].score(kCycleShape).missing, truth().no_reverse);
}

// A chain is held against the best bridge over its reference, which is that of the bridge where its
// own is not known.
TEST(CompareOnChains, AreHeldAgainstTheBestBridge) {
  const auto process = ReferenceProcess::gaussian(6, 0.25, 16);
  const auto bridge = std::make_shared<CpBridge>(process, random_potential(2, 6, 3, 2));
  const auto flat =
      std::make_shared<CpBridge>(process, CpPotential({0.0}, Array3<double>(2, 6, 1, 0.0)));
  const auto near = std::make_shared<testing::TableSteps>(testing::disturbed(*bridge, 0.1, 7));
  const auto far = std::make_shared<testing::TableSteps>(testing::disturbed(*bridge, 1.5, 7));
  States x0(80, 2), x1(80, 2);
  for (std::size_t i = 0; i < x0.size(); ++i) x0.data()[i] = static_cast<std::int32_t>(i * i % 6);
  bridge->sample({}, x0, {9, DrawPurpose::kConditional}, 0, x1);
  const std::vector<DataContestant> contestants = {
      {.name = "flat", .coupling = flat, .reference = process},
      {.name = "bridge", .coupling = bridge, .reference = process},
      {.name = "near", .coupling = near, .reference = process},
      {.name = "outside", .coupling = far},
      {.name = "other", .coupling = far, .reference = ReferenceProcess::gaussian(6, 0.3, 16)}};
  const DataComparison found = compare_on({}, x0, x1, contestants);
  const auto distance = [&](std::size_t i) { return found.contestants[i].score(kBridgeDistance); };
  EXPECT_THAT(distance(1).missing, ::testing::HasSubstr("no chain of steps"));
  EXPECT_EQ(distance(2).note, "from bridge");
  EXPECT_LT(distance(2).value.mean, 0.3 * distance(3).value.mean);
  EXPECT_EQ(distance(3).note, "from bridge");
  EXPECT_EQ(found.contestants[3].score(kReferenceKl).note, "over the reference of bridge");
  EXPECT_EQ(distance(4).missing, "no bridge over its reference is given");
}

TEST_F(CompareOn, TheSeedDecidesAndThreadsDoNot) {
  DataContestant both = truth();
  both.reverse = pair_.reversed().require_truth({});
  const auto text = [&](int threads, std::uint64_t seed) {
    return comparison_json(compare({both, reference()}, testing::with_threads(threads), seed))
        .dump();
  };
  const std::string one = text(1, 5);
  EXPECT_EQ(one, text(3, 5));
  EXPECT_NE(one, text(1, 6));
}

TEST_F(CompareOn, BadRequestsAreRefused) {
  using ::testing::HasSubstr;
  const auto message = [&](StatesView x0, StatesView x1, std::vector<DataContestant> contestants) {
    try {
      compare_on({}, x0, x1, contestants);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  EXPECT_THAT(message(x0_, x1_, {}), HasSubstr("there must be a run"));
  EXPECT_THAT(message(x0_, x1_, {truth(), truth()}), HasSubstr("got 'truth' twice"));
  EXPECT_THAT(message(States(3, 5, 0), States(3, 5, 0), {truth()}),
              HasSubstr("truth was fitted to D = 6 and the rows must have as many columns, got 5"));
  EXPECT_THAT(message(x0_, States(3, 5, 0), {truth()}), HasSubstr("got 6 and 5"));
  EXPECT_THAT(message(x0_, States(0, 6), {truth()}), HasSubstr("must have rows, got 160 and 0"));
  EXPECT_THAT(message(x0_, States(1, 6, 6), {truth()}), HasSubstr("x1 must hold"));
  DataContestant larger = reference();
  larger.coupling = std::make_shared<Repeats>(train_x1_, 8);
  EXPECT_THAT(message(x0_, x1_, {truth(), larger}),
              HasSubstr("got D = 6, S = 6 of truth and D = 6, S = 8 of reference"));
}

bool nobody_has(const DataComparison& comparison, std::string_view name) {
  return std::ranges::none_of(comparison.contestants, [&](const ContestantScores& contestant) {
    return contestant.score(name).missing.empty();
  });
}

TEST_F(CompareOn, TextAndJsonSayWhatIsMissing) {
  DataContestant outside{.name = "outside", .coupling = std::make_shared<Repeats>(train_x1_, 6)};
  const DataComparison found = compare({truth(), outside});
  const std::string text = comparison_text(found);
  using ::testing::HasSubstr;
  EXPECT_THAT(text, HasSubstr("160 rows of x0 and 180 of x1, D = 6, S = 6; 160 draws"));
  EXPECT_THAT(text,
              HasSubstr("\n  outside: its reference is not known; its training rows are not"));
  EXPECT_THAT(text, HasSubstr("\n  outside  -  it is no bridge: it has no potential v"));
  for (const DataScoreSpec& spec : data_score_specs()) {
    if (nobody_has(found, spec.name)) continue;
    EXPECT_THAT(text, HasSubstr("\n\n" + std::string(spec.title)));
    EXPECT_THAT(text, HasSubstr(std::string(spec.meaning)));
  }
  // What nobody has is no block of dashes.
  const DataScoreSpec& distance = *find_data_score(kBridgeDistance);
  EXPECT_THAT(text, ::testing::Not(HasSubstr("\n\n" + std::string(distance.title))));
  EXPECT_THAT(text, HasSubstr("\n\nLeft out, for every run:\n  it is no chain of steps; objectives "
                              "compare bridges with each other: " +
                              std::string(distance.title)));
  const nlohmann::json json = comparison_json(found);
  const nlohmann::json& scores = json["runs"][1]["scores"];
  EXPECT_TRUE(scores[kHeldOutObjective]["value"].is_null());
  EXPECT_TRUE(scores[kHeldOutObjective]["missing"].is_string());
  EXPECT_TRUE(scores[kDataShape]["missing"].is_null());
  EXPECT_EQ(scores.size(), data_score_specs().size());
  EXPECT_EQ(json["runs"][0]["overlap"]["x0"]["rows"], 160);
  EXPECT_TRUE(json["runs"][1]["overlap"].is_null());
}

TEST(ComparisonText, EstimatesHaveTheDigitsOfTheirError) {
  EXPECT_EQ(estimate_text({1.3149, 0.1234}), "1.31 ± 0.12");
  EXPECT_EQ(estimate_text({-12.3, 4.56}), "-12.3 ± 4.6");
  EXPECT_EQ(estimate_text({1234.5, 97.0}), "1234 ± 97");
  EXPECT_EQ(estimate_text({-0.00001, 0.01}), "0.000 ± 0.010");
  EXPECT_EQ(estimate_text({0.25, 0.0}), "0.2500");
  EXPECT_EQ(estimate_text({0.25, std::nan("")}), "0.2500");
  EXPECT_EQ(estimate_text({-testing::kInfinity, 0.0}), "-inf");
  EXPECT_EQ(estimate_text({2.0, testing::kInfinity}), "2.000 ± inf");
}

TEST(ComparisonText, DifferencesBelowTwoErrorsAreNotToldApart) {
  const auto text = [](double mean, double error) {
    return difference_text({"a", "b", {mean, error}});
  };
  EXPECT_EQ(text(1.3, 0.12), "a is nearer to the bridge than b by 1.30 ± 0.12 nats");
  EXPECT_EQ(text(-1.3, 0.12), "b is nearer to the bridge than a by 1.30 ± 0.12 nats");
  EXPECT_EQ(text(-0.2, 0.12), "a and b are not told apart: -0.20 ± 0.12 nats");
  EXPECT_EQ(text(testing::kInfinity, 0.0), "a is nearer to the bridge than b by inf nats");
  EXPECT_EQ(text(0.0, testing::kInfinity), "a and b are not told apart: 0 ± inf nats");
}

// Beside each number what it means, and how far it was found to be believed.
TEST_F(CompareOn, SaysHowFarEachNumberIsToBeBelieved) {
  const DataComparison found = compare({truth(), reference()});
  const std::string text = comparison_text(found);
  const nlohmann::json json = comparison_json(found);
  for (const DataScoreSpec& spec : data_score_specs()) {
    EXPECT_FALSE(spec.belief.empty()) << spec.name;
    const bool is_shown = !nobody_has(found, spec.name);
    EXPECT_EQ(text.find(std::string(spec.meaning) + " " + std::string(spec.belief)) != text.npos,
              is_shown)
        << spec.name;
    EXPECT_EQ(json["meanings"][std::string(spec.name)]["belief"], spec.belief);
  }
}

}  // namespace
}  // namespace bridgemark
