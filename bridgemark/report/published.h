#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bridgemark {

// One cell of the paper's tables, in its names and in ours. The paper's pairs are lost; the spread
// presets stand in for them, since no pair of the text's family has such baselines
// (results/published-pairs/README.md).
struct PublishedCell {
  std::string table, method;  // of the paper: "reverse_c2st", "Feature-wise SB"
  std::string score;          // of ScoreSpec; c2st_score for the reversed pairs
  std::string solver;         // "dlightsb-m"
  std::string loss;           // "kl", "mse" or empty
  std::string num_steps;      // "16", "64" or empty
  std::string pair;           // a spread preset, NAME-reverse for the reversed pairs
  double value;
};

// All of them, in the order of the paper.
const std::vector<PublishedCell>& published_cells();

// Nothing where the paper has no such cell.
std::optional<double> published_value(std::string_view score, std::string_view solver,
                                      std::string_view loss, std::string_view num_steps,
                                      std::string_view pair);

}  // namespace bridgemark
