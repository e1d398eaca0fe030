#pragma once

#include <vector>

namespace bridgemark {

// How often bridge matching looks at each step of a chain, and what a row counts that does: the
// mean of the weighted losses is that of steps drawn evenly. Empty: evenly, each row counts once.
struct StepDraws {
  std::vector<double> cumulative;  // [num_steps], sums of the probabilities
  std::vector<double> weights;     // [num_steps], mean 1 over the draws
};

// Step n with a probability in proportion to 1 / (n + 1) + 1 / (num_steps - n). The last steps
// alone show the fine shape of a potential, which a wide reference smooths away before them, and in
// many dimensions the first steps alone decide between its components.
StepDraws steps_of_ends(int num_steps);

}  // namespace bridgemark
