#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bridgemark/metric/evaluation.h"

namespace bridgemark {

// The scores of one solver on one pair for people: a heading, then a line for each with its mean
// and standard error, or why it cannot be given, as terminal_text(). No line break at the end.
std::string score_list(std::string_view label, std::string_view pair, int num_seeds,
                       std::span<const Score> scores);

}  // namespace bridgemark
