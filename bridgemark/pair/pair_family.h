#pragma once

#include <string_view>

namespace bridgemark {

// How the component means of a constructed pair are drawn.
enum class PairFamily {
  kSphere,  // on a sphere around the middle of the space: the text of the paper
  kSpread,  // whole numbers over nearly all categories: what the paper's tables were measured on
};

std::string_view pair_family_name(PairFamily family);

// Parses "sphere" or "spread"; throws InvalidArgument otherwise.
PairFamily parse_pair_family(std::string_view name);

}  // namespace bridgemark
