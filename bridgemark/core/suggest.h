#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bridgemark {

// The candidate with the smallest edit distance to `word`; empty when there are no candidates.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace bridgemark
