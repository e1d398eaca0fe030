#include "bridgemark/metric/score_spec.h"

#include <algorithm>

namespace bridgemark {

namespace {

// What scores see, in the words of pages.
constexpr std::string_view kGivenX0 = "Given x0", kWholeCoupling = "Whole coupling",
                           kPaths = "Paths", kEndsAlone = "Ends alone", kOwnMetrics = "Own metrics";

// What the KLs have in common.
constexpr ScoreSpec kl(ScoreSpec spec) {
  spec.unit = "nats";
  spec.better = Better::kLower;
  spec.significant_digits = 3;
  spec.bounds = {0.5, 2.0, 10.0};
  return spec;
}

constexpr ScoreSpec kSpecs[] = {
    {.name = kConditionalShape,
     .title = "Conditional shape score",
     .group = kGivenX0,
     .note = "Overlap of single coordinates of x1 given x0, draws of the solver against as many of "
             "the truth, so that a perfect solver scores what the Oracle does. Blind to how the "
             "coordinates go together.",
     .of_conditional_samples = true,
     .in_paper = true,
     .reversed_place = 1,
     .headline_place = 4,
     .of_submission_list = true,
     .against_time = true},
    {.name = kConditionalTrend,
     .title = "Conditional trend score",
     .group = kGivenX0,
     .note = "Overlap of pairs of coordinates of x1 given x0, the pairs (d, d) included as "
             "published.",
     .of_conditional_samples = true,
     .in_paper = true,
     .reversed_place = 2,
     .headline_place = 5,
     .against_time = true,
     .deciding_place = 2},
    kl({.name = kForwardTrajectoryKl,
        .title = "Forward trajectory KL",
        .group = kPaths,
        .note = "KL(truth || solver), summed over the steps of the solver's chain (16 where it has "
                "none) and all dimensions, in nats. Blind to how the coordinates of a step move "
                "together.",
        .in_paper = true,
        .reversed_place = 5,
        .headline_place = 3,
        .against_time = true}),
    kl({.name = kReverseTrajectoryKl,
        .title = "Reverse trajectory KL",
        .group = kPaths,
        .note = "KL(solver || truth), summed over steps and dimensions, in nats. Blind to what the "
                "forward one is blind to.",
        .in_paper = true,
        .reversed_place = 6}),
    {.name = kShapeScore,
     .title = "Shape score",
     .group = kEndsAlone,
     .note = "Overlap of single coordinates of x1 over the test set; blind to which x0 an x1 "
             "belongs to.",
     .in_paper = true,
     .marks_best = false},
    {.name = kTrendScore,
     .title = "Trend score",
     .group = kEndsAlone,
     .note = "Overlap of pairs of coordinates of x1 over the test set; blind to which x0 an x1 "
             "belongs to.",
     .in_paper = true,
     .marks_best = false},
    {.name = kC2stScore,
     .title = "C2ST score of the reversed pairs",
     .group = kWholeCoupling,
     .note = "1 - 2 |AUC - 1/2| of a classifier trained to tell (x0, x1) of the solver from those "
             "of the truth; 1: it cannot.",
     .of_classifier = true,
     .table = TablePairs::kReversed,
     .in_paper = true,
     .marks_best = false},
    {.name = kExactConditionalShape,
     .title = "Exact conditional shape score",
     .group = kGivenX0,
     .note = "Between closed-form marginals, free of any sampling noise: 1 is perfect. Only for "
             "couplings that have them. Blind to how the coordinates go together.",
     .reversed_place = 4,
     .headline_place = 2,
     .of_submission_list = true,
     .against_time = true},
    {.name = kSampledConditionalShape,
     .title = "Sampled conditional shape score",
     .group = kGivenX0,
     .note = "Draws of the solver against the closed-form marginals of the truth, so that a "
             "perfect solver scores what the Oracle does. Blind to how the coordinates go "
             "together.",
     .of_conditional_samples = true,
     .against_time = true},
    {.name = kConditionalTrendOffdiagonal,
     .title = "Conditional trend score without (d, d)",
     .group = kGivenX0,
     .note = "Pairs of different coordinates only.",
     .of_conditional_samples = true},
    kl({.name = kJointKl,
        .title = "Joint KL",
        .group = kWholeCoupling,
        .note = "Mean over the test set of log q*(x1|x0) - log q(x1|x0), in nats; it does not "
                "saturate. Of a solver that has steps alone it is an upper bound, by particles.",
        .reversed_place = 3,
        .headline_place = 1,
        .of_submission_list = true,
        .against_time = true,
        .deciding_place = 1}),
    {.name = kTrendOffdiagonal,
     .title = "Trend score without (d, d)",
     .note = "Pairs of different coordinates of x1 over the test set.",
     .table = TablePairs::kNone},
    {.name = kC2stAuc,
     .title = "C2ST AUC",
     .note = "Area under the curve of the classifier that tells (x0, x1) of the solver from those "
             "of the truth; 1/2: it cannot.",
     .better = Better::kNeither,
     .of_classifier = true,
     .table = TablePairs::kNone},
    {.name = kSbPerplexity,
     .title = "SB perplexity",
     .note = "exp of minus the mean of log q*(x1|x0) / D over the answers.",
     .better = Better::kNeither,
     .table = TablePairs::kNone},
    {.name = kMeanMarginalEntropy,
     .title = "Mean marginal entropy",
     .note = "Of single coordinates of the answers.",
     .unit = "nats",
     .better = Better::kNeither,
     .table = TablePairs::kNone},
};

}  // namespace

std::span<const ScoreSpec> score_specs() { return kSpecs; }

const ScoreSpec* find_score(std::string_view name) {
  const auto found = std::ranges::find(kSpecs, name, &ScoreSpec::name);
  return found == std::ranges::end(kSpecs) ? nullptr : found;
}

bool may_be_own_score(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_of_word = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
  };
  return !name.empty() && name.size() <= kMaxOwnScoreName && !is_digit(name[0]) &&
         std::ranges::all_of(name, is_of_word) && find_score(name) == nullptr;
}

ScoreSpec own_score_spec(std::string_view name) {
  return {.name = name,
          .title = name,
          .group = kOwnMetrics,
          .note = "A metric of its user's own, which Bridgemark knows by its name alone.",
          .better = Better::kNeither,
          .marks_best = false,
          .significant_digits = 3};
}

std::vector<const ScoreSpec*> scores_by(int ScoreSpec::*place) {
  std::vector<const ScoreSpec*> scores;
  for (const ScoreSpec& spec : kSpecs) {
    if (spec.*place > 0) scores.push_back(&spec);
  }
  std::ranges::sort(scores, {}, [&](const ScoreSpec* spec) { return spec->*place; });
  return scores;
}

}  // namespace bridgemark
