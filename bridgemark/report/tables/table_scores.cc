#include "bridgemark/report/tables/table_scores.h"

#include <algorithm>
#include <utility>

namespace bridgemark {

namespace {

TableScore kl(std::string score, std::string title, std::string note) {
  TableScore table{std::move(score), std::move(title), std::move(note)};
  table.lower_is_better = true;
  table.significant_digits = 3;
  table.bounds[0] = 0.5;
  table.bounds[1] = 2.0;
  table.bounds[2] = 10.0;
  return table;
}

// The scores that reversed pairs have beside the classifier's, in tables of their own.
void add_reversed(std::vector<TableScore>& scores) {
  for (const char* name :
       {"conditional_shape_score", "conditional_trend_score", "joint_kl",
        "exact_conditional_shape_score", "forward_trajectory_kl", "reverse_trajectory_kl"}) {
    TableScore score = *std::find_if(scores.begin(), scores.end(),
                                     [&](const TableScore& s) { return s.score == name; });
    score.title += ", reversed pairs";
    score.note += " x0 is drawn from p1 and x1 from p0.";
    score.reversed_pairs = true;
    score.in_paper = false;
    scores.push_back(std::move(score));
  }
}

std::vector<TableScore> make_scores() {
  std::vector<TableScore> scores;
  scores.push_back(
      {"conditional_shape_score", "Conditional shape score",
       "Overlap of single coordinates of x1 given x0, draws of the solver against as many of the "
       "truth, so that a perfect solver scores what the Oracle does. Blind to how the coordinates "
       "go together."});
  scores.push_back({"conditional_trend_score", "Conditional trend score",
                    "Overlap of pairs of coordinates of x1 given x0, the pairs (d, d) included as "
                    "published."});
  scores.push_back(kl("forward_trajectory_kl", "Forward trajectory KL",
                      "KL(truth || solver), summed over the steps of the solver's chain (16 where "
                      "it has none) and all dimensions, in nats. Blind to how the coordinates of a "
                      "step move together."));
  scores.push_back(
      kl("reverse_trajectory_kl", "Reverse trajectory KL",
         "KL(solver || truth), summed over steps and dimensions, in nats. Blind to what "
         "the forward one is blind to."));
  TableScore shape{"shape_score", "Shape score",
                   "Overlap of single coordinates of x1 over the test set; blind to which x0 an x1 "
                   "belongs to."};
  shape.marks_best = false;
  scores.push_back(shape);
  TableScore trend{"trend_score", "Trend score",
                   "Overlap of pairs of coordinates of x1 over the test set; blind to which x0 an "
                   "x1 belongs to."};
  trend.marks_best = false;
  scores.push_back(trend);
  TableScore c2st{"c2st_score", "C2ST score of the reversed pairs",
                  "1 - 2 |AUC - 1/2| of a classifier trained to tell (x0, x1) of the solver from "
                  "those of the truth; 1: it cannot."};
  c2st.reversed_pairs = true;
  c2st.marks_best = false;
  scores.push_back(c2st);
  TableScore exact{"exact_conditional_shape_score", "Exact conditional shape score",
                   "Between closed-form marginals, free of any sampling noise: 1 is perfect. Only "
                   "for couplings that have them. Blind to how the coordinates go together."};
  exact.in_paper = false;
  scores.push_back(exact);
  TableScore sampled{"sampled_conditional_shape_score", "Sampled conditional shape score",
                     "Draws of the solver against the closed-form marginals of the truth, so that "
                     "a perfect solver scores what the Oracle does. Blind to how the coordinates "
                     "go together."};
  sampled.in_paper = false;
  scores.push_back(sampled);
  TableScore offdiagonal{"conditional_trend_offdiagonal", "Conditional trend score without (d, d)",
                         "Pairs of different coordinates only."};
  offdiagonal.in_paper = false;
  scores.push_back(offdiagonal);
  TableScore joint =
      kl("joint_kl", "Joint KL",
         "Mean over the test set of log q*(x1|x0) - log q(x1|x0), in nats; it does "
         "not saturate. Of a solver that has steps alone it is an upper bound, by particles.");
  joint.in_paper = false;
  scores.push_back(joint);
  add_reversed(scores);
  return scores;
}

}  // namespace

const std::vector<TableScore>& table_scores() {
  static const std::vector<TableScore> scores = make_scores();
  return scores;
}

}  // namespace bridgemark
