#include "bridgemark/process/step_draws.h"

namespace bridgemark {

StepDraws steps_of_ends(int num_steps) {
  const auto share = [&](int n) { return 1.0 / (n + 1) + 1.0 / (num_steps - n); };
  StepDraws draws;
  double sum = 0.0;
  for (int n = 0; n < num_steps; ++n) {
    sum += share(n);
    draws.cumulative.push_back(sum);
  }
  for (int n = 0; n < num_steps; ++n) draws.weights.push_back(sum / (num_steps * share(n)));
  return draws;
}

}  // namespace bridgemark
