#pragma once

#include <string>
#include <vector>

namespace bridgemark {

// One score in a table: which way is better, and the bounds of the paper's colours.
struct TableScore {
  std::string score;
  std::string title;
  std::string note;  // what the number means, in a sentence
  bool lower_is_better = false;
  bool reversed_pairs = false;  // the table of p1 -> p0
  bool in_paper = true;
  // Whether its best is marked. Not where a coupling that ignores x0 can look best: such a score
  // tells a bad solver, never the best one.
  bool marks_best = true;
  // 0: three decimals, two digits where the score is too small for them; a KL has three digits,
  // however small it is.
  int significant_digits = 0;
  // Ascending. A score above all three is good; a KL below all three is.
  double bounds[3] = {0.5, 0.75, 0.85};
};

// The seven tables of the paper in its order, then those it does not have.
const std::vector<TableScore>& table_scores();

}  // namespace bridgemark
