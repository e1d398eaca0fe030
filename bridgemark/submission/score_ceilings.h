#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/pair/benchmark_pair.h"

namespace bridgemark {

// Scores that compare draws fall short of 1 by the noise of the draws, also those of the truth
// itself. Answers that fall short by less than this share of what the truth's own draws do are no
// draws: they were copied from what they are compared with, or their frequencies were arranged.
// The share is a margin: no rate of false alarms is known of it.
inline constexpr double kLeastShareOfNoise = 1.0 / 4.0;

// Each score of an evaluation that no draws have, a line; none where there is none. The truth is
// scored with draws of the seed.
std::vector<std::string> scores_above_truth(const Context& context, const BenchmarkPair& pair,
                                            const Evaluation& evaluation, std::uint64_t seed);

}  // namespace bridgemark
