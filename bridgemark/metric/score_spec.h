#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

// What a score is. Evaluations, tables, boards, submissions and pages read it here.
namespace bridgemark {

// The names of scores, in records and for callers.
inline constexpr char kShapeScore[] = "shape_score";
inline constexpr char kTrendScore[] = "trend_score";
inline constexpr char kTrendOffdiagonal[] = "trend_offdiagonal";
inline constexpr char kMeanMarginalEntropy[] = "mean_marginal_entropy";
inline constexpr char kSbPerplexity[] = "sb_perplexity";
inline constexpr char kC2stAuc[] = "c2st_auc";
inline constexpr char kC2stScore[] = "c2st_score";
inline constexpr char kConditionalShape[] = "conditional_shape_score";
inline constexpr char kConditionalTrend[] = "conditional_trend_score";
inline constexpr char kConditionalTrendOffdiagonal[] = "conditional_trend_offdiagonal";
inline constexpr char kSampledConditionalShape[] = "sampled_conditional_shape_score";
inline constexpr char kExactConditionalShape[] = "exact_conditional_shape_score";
inline constexpr char kForwardTrajectoryKl[] = "forward_trajectory_kl";
inline constexpr char kReverseTrajectoryKl[] = "reverse_trajectory_kl";
inline constexpr char kJointKl[] = "joint_kl";

// Which of two values of a score is the better one. A score may only describe.
enum class Better { kHigher, kLower, kNeither };

// The pairs that the table of a score is of: p0 -> p1, or p1 -> p0.
enum class TablePairs { kNone, kForward, kReversed };

// A place is a number from 1 on, unique among the scores that have one; 0: the score has none.
struct ScoreSpec {
  std::string_view name;
  std::string_view title;
  std::string_view group = {};  // what it sees, by which pages list the tables; of scores with one
  std::string_view note;        // what the number means, in a sentence
  std::string_view unit = {};   // "nats" of a KL
  Better better = Better::kHigher;

  // How it is made.
  bool of_conditional_samples = false;  // their number decides its ceiling
  // Of a classifier, whose training in float32 ends elsewhere on another machine.
  bool of_classifier = false;

  // Its table.
  TablePairs table = TablePairs::kForward;
  bool in_paper = false;   // the paper has that table
  int reversed_place = 0;  // among further tables of reversed pairs, for scores of forward ones
  bool marks_best = true;  // not where a coupling that ignores x0 can look best
  // 0: three decimals, two digits where the score is too small for them; a KL has three digits,
  // however small it is.
  int significant_digits = 0;
  // Of the paper's colours, ascending. A score above all three is good; a KL below all three is.
  std::array<double, 3> bounds = {0.5, 0.75, 0.85};

  // What a reader sees first.
  int headline_place = 0;           // among the tables of a board, for either direction
  bool of_submission_list = false;  // a headline in the list of what a submission would add
  bool against_time = false;        // a report draws it against the time of training

  // Who is best on a pair: what sees the whole coupling and does not saturate, else a score of
  // draws, which every solver has. See best_of_pairs().
  int deciding_place = 0;

  constexpr bool lower_is_better() const { return better == Better::kLower; }
  constexpr bool is_ranked() const { return better != Better::kNeither; }
};

// Every score of an evaluation, in the order of their tables: the paper's seven first.
std::span<const ScoreSpec> score_specs();

// Null for a name that no score has.
const ScoreSpec* find_score(std::string_view name);

inline constexpr std::size_t kMaxOwnScoreName = 80;  // characters

// Whether a score of this name may be a caller's own: a word of at most kMaxOwnScoreName letters of
// ASCII, digits and underscores that begins with no digit, and that no score above has.
bool may_be_own_score(std::string_view name);

// What tables know of a caller's own score: its name and nothing of its direction, so it ranks
// nobody. The spec has the name by reference.
ScoreSpec own_score_spec(std::string_view name);

// The scores that have a place of this kind, in its order: scores_by(&ScoreSpec::headline_place).
std::vector<const ScoreSpec*> scores_by(int ScoreSpec::*place);

}  // namespace bridgemark
