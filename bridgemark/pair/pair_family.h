#pragma once

#include <string_view>

namespace bridgemark {

// How a constructed pair is made: where its component means are drawn, and for which ends.
enum class PairFamily {
  kSphere,     // on a sphere around the middle of the space: the text of the paper
  kSpread,     // whole numbers over nearly all categories: what the paper's tables were measured on
  kChain,      // as spread, with a hidden chain along the coordinates in place of one component
  kTwoSided,   // as spread, for a potential at either end
  kDistilled,  // fitted to something else and declared the truth; distill() makes it, not build
  kTree,       // as spread, with a hidden state on every node of a tree over the coordinates
};

// "sphere", "spread", "chain", "twosided", "distilled" or "tree".
std::string_view pair_family_name(PairFamily family);

// Parses one of those names; throws InvalidArgument otherwise.
PairFamily parse_pair_family(std::string_view name);

// The same of a family whose pairs can be built from numbers: not distilled.
PairFamily parse_built_family(std::string_view name);

}  // namespace bridgemark
