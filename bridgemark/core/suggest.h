#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bridgemark {

// The candidate with the smallest edit distance to `word`; empty when there are no candidates.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

// The same where few letters of it are others: one of three and four, two of five to seven, and so
// on; none of shorter words.
std::optional<std::string> near_name(std::string_view word,
                                     std::span<const std::string> candidates);

}  // namespace bridgemark
