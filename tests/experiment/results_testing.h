#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/math/philox.h"

// Results as a grid would leave them, with the scores that a test gives, and noise for them.
namespace bridgemark::testing {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline const std::string kPair = "d2-gaussian-0.02-spread";

inline RunResult result(const std::string& pair, const std::string& solver, std::uint64_t seed,
                        std::vector<Score> scores, const std::string& loss = "",
                        const std::string& num_steps = "") {
  RunResult result;
  result.experiment = "test";
  result.run = pair + "." + solver + "." + loss + num_steps + std::to_string(seed);
  result.method = solver_title(solver);
  result.pair = pair;
  result.solver = solver;
  result.loss = loss;
  result.num_steps = num_steps;
  result.seed = seed;
  result.machine = "a machine, quick";
  result.version = "1";
  result.pair_identity = {{"reverse", pair.ends_with("-reverse")}};
  result.scores = std::move(scores);
  return result;
}

inline double normal(std::uint64_t seed, std::uint64_t index) {
  DrawSequence draws({seed, DrawPurpose::kSource}, index);
  const double radius = std::sqrt(-2.0 * std::log1p(-draws.uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * draws.uniform());
}

}  // namespace bridgemark::testing
